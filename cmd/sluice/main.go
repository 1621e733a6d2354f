// Command sluice is the whole appliance in one program: the supervisor, the
// three roles it starts from itself, and the command line.
package main

import (
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
	cli.Version = version
	root := cli.Root(runCommand(), demoCommand())
	os.Exit(cli.Run(root, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
