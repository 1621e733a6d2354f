// Command sluice is the whole appliance in one program: the supervisor, the
// three roles it starts from itself, and the command line.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/role"
)

// version is stamped at build time from git (see the Makefile).
var version = "unversioned"

func main() {
	if name, ok := role.Named(os.Args); ok {
		os.Exit(role.Main(name, version))
	}
	root := &cobra.Command{Use: "sluice", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(runCommand(), demoCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "sluice:", err)
		os.Exit(1)
	}
}
