package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/cmd/cli/certificates"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/people"
	"github.com/sluicelb/sluice/cmd/cli/zones"
)

// Execute runs the command line without the commands that run the appliance and returns the
// exit status. args exclude the program name.
func Execute(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Run(Root(), args, stdin, stdout, stderr)
}

// Run runs a command tree made by Root and returns the exit status.
func Run(root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root.SetArgs(append([]string{}, args...)) // nil would select the program's arguments
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.InitDefaultCompletionCmd() // it keeps the current output
	strictCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	return command.Report(cmd, err, stderr)
}

// Root returns the command tree with additional commands.
func Root(extra ...*cobra.Command) *cobra.Command {
	c := &command.Line{}
	root := &cobra.Command{
		Use:   "sluice",
		Short: "A load balancer: run an appliance, and manage a running one",
		Long: `Sluice balances traffic over backends. These commands manage a running
appliance: over the local control socket in its data directory, or over the
network with --url and an API key.

sluice-guide(7) explains common tasks, from the first farm to backups, and
sluice.yaml(5) explains the configuration file (man sluice-guide).`,
		Example: `  sluice farm create shop vip=192.0.2.10 vport=80
  sluice service create shop web
  sluice backend create shop web 10.0.0.1:8080
  sluice status`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              command.NoSuchCommand,
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	c.AddFlags(root.PersistentFlags())
	root.AddCommand(slices.Concat(farmCommands(c), zones.Commands(c), certificates.Commands(c), revisionCommands(c),
		observeCommands(c), people.Commands(c), systemCommands(c))...)
	root.AddCommand(checkGroup(c, checkCommand(c)), shellCommand(c))
	command.Named(root, "farm").AddCommand(command.Hidden(lintCommand(c))) // its obsolete name
	c.AddWords(farmWords, zones.Words, certificates.Words, revisionWords, observeWords, people.Words, systemWords(),
		command.Words{Read: []string{shellName}})
	c.AddPendingFlags(root)
	c.AddForceFlag(root)
	c.AddDryRunFlags(root) // before the commands that use no appliance: run would start one
	root.AddCommand(extra...)
	root.Flags().BoolP("version", "v", false, "version for sluice")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if asked, _ := cmd.Flags().GetBool("version"); !asked {
			return cmd.Help()
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "sluice", client.Version)
		return err
	}
	command.EachCommand(root, func(cmd *cobra.Command) {
		if cmd.Name() == "show" {
			cmd.Aliases = append(cmd.Aliases, "get")
		}
	})
	c.AddCommonFlags(root)
	command.MarkFailures(root)
	command.ArrangeHelp(root, helpSections)
	return root
}

// strictCompletion makes the completion command report a missing or unknown shell like other
// groups.
func strictCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = command.NoSuchCommand, command.SubCommandMissing
		}
	}
}

// helpSections are the commands by purpose.
var helpSections = []command.HelpSection{
	{ID: "farms", Title: "Farms and their objects:", Commands: []string{"farm", "service", "backend", "zone", "record", "header", "rewrite", "certificate", "acme"}},
	{ID: "watch", Title: "Observe traffic:", Commands: []string{"status", "stats", "top", "graph", "logs", "trace", "questions", "explain", "lint", "timeline", "headroom", "rehearse", "session", "conn"}},
	{ID: "config", Title: "Configuration as a whole:", Commands: []string{"check", "apply", "export", "reload", "transaction", "pending", "confirm", "history", "diff", "rollback", "tag", "audit"}},
	{ID: "run", Title: "Appliance:", Commands: []string{"run", "demo", "user", "group", "role", "key", "notification", "alias", "cloud", "system", "geoip", "backup", "supportsave", "shell", "version"}},
	{ID: "more", Title: "More:", Commands: []string{"help", "completion"}},
}
