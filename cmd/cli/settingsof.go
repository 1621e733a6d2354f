package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// settingsOf returns a command that shows the settings at a path, or changes them by PUT.
func (c *client) settingsOf(path string, params []validate.Param, cmd *cobra.Command) *cobra.Command {
	return c.settingsBy(http.MethodPut, path, params, nil, cmd)
}

// settingsBy is settingsOf with another method, and additional fields to show.
func (c *client) settingsBy(method, path string, params []validate.Param, also []string, cmd *cobra.Command) *cobra.Command {
	return c.settingsWith(method, path, params, also, cmd, func(*cobra.Command, map[string]any) error { return nil })
}

// settingsWith is settingsBy with additional fields set by more.
func (c *client) settingsWith(method, path string, params []validate.Param, also []string, cmd *cobra.Command, more func(cmd *cobra.Command, fields map[string]any) error) *cobra.Command {
	s := addSettings(cmd, params)
	cmd.Annotations[showsSettings] = "yes"
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return s.complete(toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.read(cmd, args)
		if err != nil {
			return err
		}
		if err := more(cmd, fields); err != nil {
			return err
		}
		if len(fields) > 0 {
			a, err := c.send(cmd.Context(), method, path, fields)
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
		out := show.NewSheet("SETTING", "VALUE")
		for _, p := range params {
			out.Add(p.Name, body.Params[p.Name])
		}
		for _, name := range also {
			if list, is := body.Params[name].([]any); is && name == deliveryField {
				for _, server := range list {
					out.Add(name, delivered(server))
				}
			} else if v := body.Params[name]; v != nil && v != "" {
				out.Add(name, v)
			}
		}
		out.AlignLeft() // mixed values, as in farmSheet
		return c.print(cmd, out)
	}
	return cmd
}
