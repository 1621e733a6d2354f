package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/lint"
)

func lintCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lint [FARM]", Short: "Find unused, shadowed or soon-to-expire parts of the configuration",
		Long: `Find unused, shadowed or soon-to-expire parts of the configuration, of all farms
or of one: services that an earlier one shadows or that had no requests,
certificates that expire or that no client receives, backends that are down or
never used, settings without effect. --why adds the evidence and the remedy.

Exit status: 0 without findings or with infos only, 3 with warnings or errors, 1
if the check failed.`,
		Example: "  sluice lint\n  sluice lint shop --why\n  sluice lint --json",
		Args:    command.AtMost(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	why := cmd.Flags().Bool("why", false, "also show the evidence and the remedy")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := "/lint"
		if len(args) == 1 {
			var err error
			if path, err = client.Path("farms", args[0], "lint"); err != nil {
				return err
			}
		}
		a, err := c.Get(cmd.Context(), path)
		if err != nil {
			return err
		}
		var body struct{ Params []lint.Finding }
		if err := a.Decode(&body); err != nil {
			return err
		}
		if c.JSON {
			err = c.PrintJSON(cmd, a)
		} else {
			err = printFindings(c, cmd, body.Params, *why)
		}
		if worst := lint.Worst(body.Params); err == nil && (worst == lint.Error || worst == lint.Warning) {
			return command.ErrFound
		}
		return err
	}
	return cmd
}

func printFindings(c *command.Line, cmd *cobra.Command, list []lint.Finding, why bool) error {
	out := cmd.OutOrStdout()
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "No findings.")
		return err
	}
	if why {
		return printReasons(out, list)
	}
	s := show.NewSheet("SEVERITY", "CODE", "OBJECT", "FINDING")
	for _, f := range list {
		s.Add(string(f.Severity), f.Code, objectOf(f), f.Message)
	}
	return c.Print(cmd, s)
}

// printReasons prints each finding with evidence and advice.
func printReasons(out io.Writer, list []lint.Finding) error {
	for i, f := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		text := fmt.Sprintf("%s %s: %s\n  %s\n  because: %s\n  do: %s", f.Severity, f.Code, objectOf(f), f.Message, f.Evidence, f.Advice)
		if _, err := fmt.Fprintln(out, show.Clean(text)); err != nil {
			return err
		}
	}
	return nil
}

// objectOf names the object of a finding.
func objectOf(f lint.Finding) string {
	var parts []string
	for _, part := range [][2]string{{"farm", f.Farm}, {"service", f.Service}, {"certificate", f.Certificate}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if f.Backend != nil {
		parts = append(parts, fmt.Sprintf("backend %d", *f.Backend))
	}
	return strings.Join(parts, ", ")
}
