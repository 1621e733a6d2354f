// Command sluice is the whole appliance in one program: the supervisor, the
// roles it starts from itself, and the command line.
package main

import (
	"context"
	"os"

	"github.com/sluicelb/sluice/cmd/appliance"
	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/role"
	"github.com/sluicelb/sluice/cmd/role/netd"
	"github.com/sluicelb/sluice/cmd/supervisor"
)

// version is stamped at build time from git (see the Makefile).
var version = "unversioned"

func main() {
	if name, ok := role.Named(os.Args); ok {
		exit(role.Main(name, version))
	}
	client.Version, cli.Leftovers = version, leftovers
	root := cli.Root(appliance.Commands()...)
	exit(cli.Run(root, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exit ends the process once what it logged is written.
func exit(status int) {
	supervisor.FlushLog()
	os.Exit(status)
}

// leftovers is cli.Leftovers.
func leftovers(ctx context.Context, data string, named, clean bool) (out []cli.KernelObject, err error) {
	list, err := netd.Leftovers(ctx, data, named, clean)
	for _, o := range list {
		out = append(out, cli.KernelObject(o))
	}
	return out, err
}
