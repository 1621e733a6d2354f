package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

type state struct {
	Version  string
	Started  time.Time
	Revision uint64
	Settled  string
	Engine   struct {
		Connected               bool
		PID, Loops              int
		Published, Acknowledged uint64
	}
	Roles []struct {
		Name, State   string
		PID, Restarts int
		Started       time.Time
	}
	// Problems concern the appliance and the settings of the machine.
	Problems []string
	Pending  *pendingChange
	Farms    []farmLine
}

func statusCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the state of the appliance: processes, generation, farms",
		Example: "  sluice status\n  sluice status --json", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/status")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params state }
			if err := a.Decode(&body); err != nil {
				return err
			}
			return printState(c, cmd, body.Params)
		},
	}
}

func printState(c *command.Line, cmd *cobra.Command, v state) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Sluice %s, revision %d, %s\n", show.Clean(v.Version), v.Revision, engineText(v))
	if v.Pending != nil {
		fmt.Fprintln(out, pendingText(*v.Pending))
	}
	if len(v.Roles) > 0 {
		s := show.NewSheet("ROLE", "STATUS", "PID", "RESTARTS", "SINCE", "PROTECTION")
		for _, r := range v.Roles {
			word, protection, _ := strings.Cut(r.State, ": ")
			s.Add(r.Name, word, r.PID, r.Restarts, command.FormatTime(r.Started), protection)
		}
		fmt.Fprintln(out)
		if err := c.Print(cmd, s); err != nil {
			return err
		}
	}
	for _, problem := range v.Problems {
		fmt.Fprintf(out, "\nproblem: %s", show.Clean(problem))
	}
	if len(v.Problems) > 0 {
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	if len(v.Farms) == 0 {
		_, err := fmt.Fprintln(out, "No farm yet: create one with `sluice farm create NAME vip=ADDRESS vport=PORT`.")
		return err
	}
	s := show.NewSheet("FARM", "STATUS", "VIP", "VPORT", "PROBLEM")
	for _, f := range v.Farms {
		s.Add(f.FarmName, f.Status, f.VIP, f.VPort, f.reason())
	}
	return c.Print(cmd, s)
}

func engineText(v state) string {
	switch {
	case !v.Engine.Connected:
		return "the engine is not running"
	case v.Settled != "true":
		return fmt.Sprintf("the engine still runs generation %d", v.Engine.Acknowledged)
	default:
		return fmt.Sprintf("the engine runs it as generation %d on %d event loops", v.Engine.Acknowledged, v.Engine.Loops)
	}
}
