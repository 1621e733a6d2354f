package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// pendingChange is a pending change in a response.
type pendingChange struct {
	Pending, Author, Comment, Guard, Problem string
	Revision, Base                           uint64
	Until                                    time.Time
	Left                                     int
	Measured                                 []string
	Last                                     *struct {
		Outcome, Reason string
		Revision, Now   uint64
	}
}

func pendingCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pending", Short: "Show the change that is reverted unless it is confirmed",
		Long: `Show the change that is reverted unless it is confirmed, and the measurements of
its guard. --undo reverts it now.`,
		Example: "  sluice farm set shop vport=8443 --confirm 5m\n  sluice pending\n  sluice pending --undo", Args: command.Exactly(0),
	}
	undo := cmd.Flags().Bool("undo", false, "revert the change now")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *undo {
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodDelete, Path: "/pending"})
			if err != nil {
				return err
			}
			return c.PrintMessage(cmd, a)
		}
		a, err := c.Get(cmd.Context(), "/pending")
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params pendingChange }
		if err := a.Decode(&body); err != nil {
			return err
		}
		return printPending(c, cmd, body.Params)
	}
	return cmd
}

func printPending(c *command.Line, cmd *cobra.Command, p pendingChange) error {
	out := cmd.OutOrStdout()
	if p.Pending != "true" {
		fmt.Fprintln(out, "No change is pending.")
	} else {
		fmt.Fprintln(out, pendingText(p))
		for _, text := range p.Measured {
			fmt.Fprintln(out, "  "+show.Clean(text))
		}
		if p.Problem != "" {
			fmt.Fprintln(out, "  reverting has failed so far: "+show.Clean(p.Problem))
		}
	}
	if l := p.Last; l != nil {
		reason := ""
		if l.Reason != "" {
			reason = ": " + l.Reason
		}
		fmt.Fprintf(out, "Revision %d %s%s.\n", l.Revision, outcomeText(l.Outcome), show.Clean(reason))
	}
	return nil
}

func outcomeText(outcome string) string {
	if outcome == "went back" {
		return outcome
	}
	return "was " + show.Clean(outcome)
}

// pendingText describes when and how a pending change ends.
func pendingText(p pendingChange) string {
	ends := "goes back"
	if p.Guard != "" {
		ends = "is confirmed if " + p.Guard + " holds"
	}
	by := " of " + p.Author
	if p.Author == "" { // author and guard are only visible to users who see all farms
		by, ends = "", "ends"
	}
	return show.Clean(fmt.Sprintf("Revision %d%s %s in %v.", p.Revision, by, ends, time.Duration(p.Left)*time.Second))
}

func confirmCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "confirm [REVISION]", Short: "Keep the pending change",
		Long:    "Keep the pending change. With a number it is kept only if it is that revision.",
		Example: "  sluice apply -f shop.yaml --confirm 5m\n  sluice confirm", Args: command.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := ""
			if len(args) == 1 {
				if _, err := revisionNumber(args[0]); err != nil {
					return err
				}
				at = args[0]
			} else {
				a, err := c.Get(cmd.Context(), "/pending")
				var body struct{ Params pendingChange }
				if err == nil {
					err = a.Decode(&body)
				}
				if err != nil {
					return err
				}
				if body.Params.Pending != "true" {
					return fmt.Errorf("no change is pending")
				}
				at = fmt.Sprint(body.Params.Revision)
			}
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: "/history/" + at + "/confirm"})
			if err != nil {
				return err
			}
			return c.PrintMessage(cmd, a)
		},
	}
}
