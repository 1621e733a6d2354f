package command

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

// AddPendingFlags adds the flags to the writing commands and prints the end of a pending change.
func (c *Line) AddPendingFlags(root *cobra.Command) {
	for _, name := range c.words.Configure {
		cmd := Named(root, name)
		cmd.Flags().StringVar(&c.confirm, "confirm", "", "revert automatically after this time, e.g. 5m, unless 'sluice confirm' is run")
		cmd.Flags().BoolVar(&c.ShowYAML, "show-yaml", false, "print the resulting YAML instead of making the change")
		cmd.Flags().StringVar(&c.guard, "guard", "", "revert automatically if a condition is violated, e.g. errors<1%,p99<200ms,10m")
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil || c.pendingUntil == "" {
				return err
			}
			ends := "is reverted at %s unless you run: sluice confirm\n"
			if c.guard != "" {
				ends = "is watched until %s, and reverted if a condition is violated: sluice pending\n"
			}
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "sluice: the change "+ends, formatClock(c.pendingUntil))
			return err
		}
	}
}

// withPendingFlags adds the flags to the query of a change.
func (c *Line) withPendingFlags(method string, query url.Values) url.Values {
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
