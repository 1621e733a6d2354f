package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// writing are the commands that change the configuration, which may be pending.
var writing = [][]string{
	{"farm", "create"}, {"farm", "copy"}, {"farm", "set"}, {"farm", "rename"}, {"farm", "delete"}, {"farm", "start"}, {"farm", "stop"}, {"farm", "restart"},
	{"service", "create"}, {"service", "set"}, {"service", "move"}, {"service", "delete"},
	{"backend", "create"}, {"backend", "set"}, {"backend", "maintenance"}, {"backend", "delete"},
	{"zone", "create"}, {"zone", "set"}, {"zone", "delete"}, {"zone", "import"},
	{"record", "create"}, {"record", "set"}, {"record", "delete"},
	{"header", "create"}, {"header", "set"}, {"header", "move"}, {"header", "delete"},
	{"rewrite", "create"}, {"rewrite", "set"}, {"rewrite", "move"}, {"rewrite", "delete"},
	{"certificate", "add"}, {"certificate", "remove"}, {"certificate", "move"}, {"session", "create"}, {"session", "delete"},
	{"check", "create"}, {"check", "copy"}, {"check", "set"}, {"check", "delete"}, {"check", "link"}, {"check", "unlink"},
	{"alias", "set"}, {"alias", "delete"},
	{"apply"}, {"reload"}, {"rollback"}, {"transaction"},
}

// sectionCommands returns the commands for machine settings.
func sectionCommands() (out [][]string) {
	for i := range validate.Sections {
		if s := &validate.Sections[i]; !s.Items {
			out = append(out, []string{"system", s.Name})
		}
	}
	return out
}

// addTrials adds the flags to the writing commands and prints the end of a pending change.
func (c *client) addTrials(root *cobra.Command) {
	for _, path := range slices.Concat(writing, sectionCommands()) {
		cmd, _, err := root.Find(path)
		if err != nil || cmd.Name() != path[len(path)-1] {
			panic(fmt.Sprintf("there is no command %v", path))
		}
		cmd.Flags().StringVar(&c.confirm, "confirm", "", "revert automatically after this time, e.g. 5m, unless 'sluice confirm' is run")
		cmd.Flags().BoolVar(&c.showYAML, "show-yaml", false, "print the resulting YAML instead of making the change")
		cmd.Flags().StringVar(&c.guard, "guard", "", "revert automatically if a condition is violated, e.g. errors<1%,p99<200ms,10m")
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil || c.before == "" {
				return err
			}
			ends := "is reverted at %s unless you run: sluice confirm\n"
			if c.guard != "" {
				ends = "is watched until %s, and reverted if a condition is violated: sluice pending\n"
			}
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "sluice: the change "+ends, clock(c.before))
			return err
		}
	}
}

// clock converts a time in a response to local time.
func clock(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return show.Clean(text)
	}
	return at.Local().Format("15:04:05")
}

// onTrial adds the flags to the query of a change.
func (c *client) onTrial(method string, query url.Values) url.Values {
	if method == http.MethodGet || c.confirm == "" && c.guard == "" && !c.force {
		return query
	}
	out := url.Values{}
	for name, values := range query {
		out[name] = values
	}
	if c.confirm != "" {
		out.Set("confirm", c.confirm)
	}
	if c.guard != "" {
		out.Set("guard", c.guard)
	}
	if c.force {
		out.Set("force", "true")
	}
	return out
}

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

func (c *client) pendingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "pending", Short: "Show the change that is reverted unless it is confirmed",
		Long: `Show the change that is reverted unless it is confirmed, and the measurements of
its guard. --undo reverts it now.`,
		Example: "  sluice farm set shop vport=8443 --confirm 5m\n  sluice pending\n  sluice pending --undo", Args: exactly(0),
	}
	undo := cmd.Flags().Bool("undo", false, "revert the change now")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *undo {
			a, err := c.do(cmd.Context(), request{method: http.MethodDelete, path: "/pending"})
			if err != nil {
				return err
			}
			return c.say(cmd, a)
		}
		a, err := c.get(cmd.Context(), "/pending")
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct{ Params pendingChange }
		if err := a.into(&body); err != nil {
			return err
		}
		return c.printPending(cmd, body.Params)
	}
	return cmd
}

func (c *client) printPending(cmd *cobra.Command, p pendingChange) error {
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

func (c *client) confirmCommand() *cobra.Command {
	return &cobra.Command{
		Use: "confirm [REVISION]", Short: "Keep the pending change",
		Long:    "Keep the pending change. With a number it is kept only if it is that revision.",
		Example: "  sluice apply -f shop.yaml --confirm 5m\n  sluice confirm", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := ""
			if len(args) == 1 {
				if _, err := revisionNumber(args[0]); err != nil {
					return err
				}
				at = args[0]
			} else {
				a, err := c.get(cmd.Context(), "/pending")
				var body struct{ Params pendingChange }
				if err == nil {
					err = a.into(&body)
				}
				if err != nil {
					return err
				}
				if body.Params.Pending != "true" {
					return fmt.Errorf("no change is pending")
				}
				at = fmt.Sprint(body.Params.Revision)
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodPost, path: "/history/" + at + "/confirm"})
			if err != nil {
				return err
			}
			return c.say(cmd, a)
		},
	}
}
