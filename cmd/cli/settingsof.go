package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// settingsOf makes a command show the settings at a path, or change those it is
// given.
func (c *client) settingsOf(path string, params []validate.Param, cmd *cobra.Command) *cobra.Command {
	s := addSettings(cmd, params)
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return s.complete(toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.read(cmd, args)
		if err != nil {
			return err
		}
		if len(fields) > 0 {
			a, err := c.send(cmd.Context(), http.MethodPut, path, fields)
			return c.orSay(cmd, a, err)
		}
		a, err := c.get(cmd.Context(), path)
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct{ Params map[string]any }
		if err := a.into(&body); err != nil {
			return err
		}
		out := newSheet("SETTING", "VALUE")
		for _, p := range params {
			out.add(p.Name, body.Params[p.Name])
		}
		out.right = nil // mixed values, as farmSheet shows them
		return c.print(cmd, out)
	}
	return cmd
}
