module antrea/test/libcni

go 1.26

require github.com/containernetworking/cni v1.1.2
