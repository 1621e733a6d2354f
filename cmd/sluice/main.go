// Command sluice is the whole appliance in one program: the supervisor, the
// three roles it starts from itself, and the command line.
package main

import (
	"context"
	"os"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/role"
)

// version is stamped at build time from git (see the Makefile).
var version = "unversioned"

func main() {
	if name, ok := role.Named(os.Args); ok {
		os.Exit(role.Main(name, version))
	}
	cli.Version, cli.Leftovers = version, leftovers
	root := cli.Root(runCommand(), demoCommand())
	os.Exit(cli.Run(root, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// leftovers is cli.Leftovers.
func leftovers(ctx context.Context, data string, clean bool) (out []cli.KernelObject, err error) {
	list, err := role.Leftovers(ctx, data, clean)
	for _, o := range list {
		out = append(out, cli.KernelObject(o))
	}
	return out, err
}
