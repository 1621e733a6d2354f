package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func auditCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "List API calls that changed something or were refused, newest first",
		Example: "  sluice audit\n  sluice audit --limit 200 --before 1400\n  sluice audit export > audit.jsonl", Args: command.Exactly(0),
	}
	limit := cmd.Flags().Int("limit", 50, "maximum number of calls")
	before := cmd.Flags().Uint64("before", 0, "only calls with a lower number")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path := fmt.Sprintf("/audit?limit=%d", *limit)
		if *before > 0 {
			path += fmt.Sprintf("&before=%d", *before)
		}
		a, err := c.Get(cmd.Context(), path)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Params []struct {
				Number                              uint64
				Time                                time.Time
				User, Source, Method, Path, Message string
				Status                              int
			}
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		s := show.NewSheet("NUMBER", "TIME", "USER", "SOURCE", "CALL", "STATUS", "MESSAGE")
		for _, e := range body.Params {
			s.Add(e.Number, command.FormatTime(e.Time), e.User, e.Source, e.Method+" "+e.Path, e.Status, e.Message)
		}
		return c.Print(cmd, s)
	}
	cmd.AddCommand(auditExport(c))
	return cmd
}

func auditExport(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Print the whole audit log, oldest first, one line of JSON for each call", Example: "  sluice audit export > audit.jsonl", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/audit/export")
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(a.Body)
			return err
		},
	}
}
