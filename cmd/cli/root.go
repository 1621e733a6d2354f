package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Version is the version of the program; the build sets it.
var Version = "unversioned"

// Exit statuses of every command.
const (
	ExitDone    = 0
	ExitRefused = 1
	ExitUsage   = 2
	// ExitFound: findings were printed (farm lint).
	ExitFound = 3
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
	return report(cmd, err, stderr)
}

// failure is an error of a correctly used command: a refusal or failure. All other errors
// are usage errors from cobra.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is a usage error detected by the command itself.
type usage struct{ message string }

func (u *usage) Error() string { return u.message }

func usagef(format string, args ...any) error { return &usage{fmt.Sprintf(format, args...)} }

// report prints an error and returns the exit status.
func report(cmd *cobra.Command, err error, stderr io.Writer) int {
	var failed *failure
	var last *status
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errInvalid):
		return ExitRefused // the errors were printed
	case errors.Is(err, errFound):
		return ExitFound // the findings were printed
	case errors.As(err, &last):
		return last.code // the error was printed
	case errors.As(err, &failed):
		if api, ok := errors.AsType[*apiError](err); ok && asJSON(cmd) {
			stderr.Write(api.body)
			return ExitRefused
		}
		fmt.Fprintf(stderr, "sluice: %s\n", show.Clean(failed.Error()))
		return ExitRefused
	default:
		fmt.Fprintf(stderr, "sluice: %s\nSee '%s --help'.\n", show.Clean(err.Error()), cmd.CommandPath())
		return ExitUsage
	}
}

func asJSON(cmd *cobra.Command) bool {
	yes, err := cmd.Flags().GetBool("json")
	return err == nil && yes
}

// Root returns the command tree with additional commands.
func Root(extra ...*cobra.Command) *cobra.Command {
	c := &client{}
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
		Args:              noSuchCommand,
	}
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	c.addFlags(root.PersistentFlags())
	root.AddCommand(c.farmCommand(), c.serviceCommand(), c.backendCommand(), c.zoneCommand(), c.recordCommand(), c.sessionCommand(), c.connCommand(), c.headerCommand(), c.rewriteCommand(), c.certificateCommand(), c.acmeCommand(), c.keyCommand(), c.userCommand(), c.groupCommand(), c.roleCommand(),
		c.checkGroup(), c.applyCommand(), c.exportCommand(), c.reloadCommand(), c.historyCommand(), c.diffCommand(), c.rollbackCommand(), c.transactionCommand(), c.pendingCommand(), c.confirmCommand(), c.tagCommand(), c.auditCommand(),
		c.statusCommand(), c.statsCommand(), c.graphCommand(), c.topCommand(), c.logsCommand(), c.traceCommand(), c.questionsCommand(), c.explainCommand(), c.lintCommand(), c.timelineCommand(), c.headroomCommand(), c.rehearseCommand(), c.backupCommand(), c.geoipCommand(), c.supportsaveCommand(), c.notificationCommand(), c.aliasCommand(), c.cloudCommand(), c.systemCommand(), c.versionCommand(), c.shellCommand())
	c.addTrials(root)
	c.addForce(root)
	c.addPlans(root) // before the commands that use no appliance: run would start one
	root.AddCommand(extra...)
	root.Flags().BoolP("version", "v", false, "version for sluice")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if asked, _ := cmd.Flags().GetBool("version"); !asked {
			return cmd.Help()
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "sluice", Version)
		return err
	}
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.Name() == "show" {
			cmd.Aliases = append(cmd.Aliases, "get")
		}
	})
	c.conduct(root)
	markFailures(root)
	arrangeHelp(root)
	return root
}

// hidden marks an obsolete name of a command, which is in no help.
func hidden(cmd *cobra.Command) *cobra.Command {
	cmd.Hidden = true
	return cmd
}

// eachCommand calls do for every command below cmd.
func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	for _, sub := range cmd.Commands() {
		do(sub)
		eachCommand(sub, do)
	}
}

// markFailures makes every error of a command a failure, unless it is a usage error of its
// own.
func markFailures(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		markFailures(sub)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if _, wrong := errors.AsType[*usage](err); err == nil || wrong {
			return err
		}
		return &failure{asTyped(cmd, err)}
	}
}

// strictCompletion makes the completion command report a missing or unknown shell like other
// groups.
func strictCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = noSuchCommand, subCommandMissing
		}
	}
}

// parentCommand returns a command that only has sub-commands.
func parentCommand(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: noSuchCommand,
		RunE: subCommandMissing,
	}
	cmd.AddCommand(subs...)
	return cmd
}

func subCommandMissing(cmd *cobra.Command, _ []string) error {
	return usagef("missing sub-command: %s", strings.Join(names(cmd), ", "))
}

// noSuchCommand refuses arguments of a group, which are unknown sub-commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if text := reordered(cmd, args); text != "" {
		return usagef("unknown command %q for %q (did you mean %s?)", args[0], cmd.CommandPath(), text)
	}
	if term, is := validate.Foreign(args[0]); is && term.Command != "" {
		return usagef("unknown command %q for %q: %s", args[0], cmd.CommandPath(), term.Command)
	}
	if near := validate.Nearest(args[0], names(cmd)); len(near) > 0 {
		return usagef("unknown command %q for %q (did you mean %s?)", args[0], cmd.CommandPath(), strings.Join(near, " or "))
	}
	if !cmd.HasParent() {
		return usagef("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return usagef("unknown command %q for %q; there is %s", args[0], cmd.CommandPath(), strings.Join(names(cmd), ", "))
}

// reordered returns the command line that has the words of args in the right order: the
// object, the action, then the name. It returns "" if they are no such words.
func reordered(cmd *cobra.Command, args []string) string {
	first, rest := args[0], args[1:]
	if sub := subCommand(cmd, first); sub != nil { // its plural
		return strings.Join(append([]string{sub.CommandPath()}, rest...), " ")
	}
	if len(rest) > 0 {
		if sub := subCommand(cmd, rest[0]); sub != nil { // e.g. farm shop show, or list farms
			if action := subCommand(sub, first); action != nil {
				return strings.Join(append([]string{sub.CommandPath(), action.Name()}, rest[1:]...), " ")
			}
			if len(rest) > 1 && subCommand(sub, rest[1]) != nil { // e.g. shop farm show
				return strings.Join(append([]string{sub.CommandPath(), rest[1], first}, rest[2:]...), " ")
			}
			if !sub.HasSubCommands() || cmd.HasParent() {
				return strings.Join(append([]string{cmd.CommandPath(), sub.Name(), first}, rest[1:]...), " ")
			}
		}
	}
	var of []string // the objects that have this action
	for _, sub := range cmd.Commands() {
		if action := subCommand(sub, first); action != nil && sub.IsAvailableCommand() {
			of = append(of, sub.CommandPath()+" "+action.Name())
		}
	}
	if i := slices.Index(of, "sluice farm "+first); i >= 0 { // the most common object
		return of[i]
	}
	return strings.Join(of[:min(len(of), 2)], " or ")
}

// subCommand returns the sub-command with this name or its plural, or nil.
func subCommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && (sub.Name() == name || sub.Name()+"s" == name) {
			return sub
		}
	}
	return nil
}

func names(cmd *cobra.Command) []string {
	var out []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, sub.Name())
		}
	}
	return out
}
