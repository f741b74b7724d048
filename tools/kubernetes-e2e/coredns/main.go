// CoreDNS as the image agnhost has it, with the plugins that the DNS tests of e2e.test name in their Corefiles.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/log"
)

func main() { coremain.Run() }
