// Calls a CNI network list as a container runtime does that has libcni 1.1, of containerd 1.7: such a library knows
// results of versions up to 1.0.0 and neither STATUS nor GC.
//
//	libcni [-args KEY=VALUE;...] [-capabilities JSON] COMMAND CONFLIST PLUGIN-FOLDERS CACHE CONTAINER-ID NETNS IFNAME
//
// COMMAND is ADD, CHECK or DEL. Prints the result of ADD as the library read it, and nothing else; what went wrong goes to
// standard error, exit code 1.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
)

const limit = 60 * time.Second

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	args := flag.String("args", "", "CNI_ARGS")
	capabilities := flag.String("capabilities", "{}", "capability arguments")
	flag.Parse()
	if flag.NArg() != 7 {
		return fmt.Errorf("want 7 arguments, have %d", flag.NArg())
	}
	command, path, folders, cache := flag.Arg(0), flag.Arg(1), flag.Arg(2), flag.Arg(3)
	list, err := libcni.ConfListFromFile(path)
	if err != nil {
		return err
	}
	runtime := &libcni.RuntimeConf{ContainerID: flag.Arg(4), NetNS: flag.Arg(5), IfName: flag.Arg(6)}
	for _, pair := range strings.Split(*args, ";") {
		if key, value, found := strings.Cut(pair, "="); found {
			runtime.Args = append(runtime.Args, [2]string{key, value})
		}
	}
	if err := json.Unmarshal([]byte(*capabilities), &runtime.CapabilityArgs); err != nil {
		return fmt.Errorf("-capabilities: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cni := libcni.NewCNIConfigWithCacheDir(filepath.SplitList(folders), cache, nil)
	switch command {
	case "ADD":
		result, err := cni.AddNetworkList(ctx, list, runtime)
		if err != nil {
			return err
		}
		return result.Print()
	case "CHECK":
		return cni.CheckNetworkList(ctx, list, runtime)
	case "DEL":
		return cni.DelNetworkList(ctx, list, runtime)
	default:
		return fmt.Errorf("unknown command %s", command)
	}
}
