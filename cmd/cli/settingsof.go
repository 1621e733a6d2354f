package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// settingsOf returns a command that shows the settings at a path, or changes them by PUT.
func (c *client) settingsOf(path string, params []field.Param, cmd *cobra.Command) *cobra.Command {
	return c.settingsBy(http.MethodPut, path, params, nil, cmd)
}

// settingsBy is settingsOf with another method, and additional fields to show.
func (c *client) settingsBy(method, path string, params []field.Param, also []shownField, cmd *cobra.Command) *cobra.Command {
	return c.settingsWith(method, path, params, also, cmd, func(*cobra.Command, map[string]any) error { return nil })
}

// settingsWith is settingsBy with additional fields set by more.
func (c *client) settingsWith(method, path string, params []field.Param, also []shownField, cmd *cobra.Command, more func(cmd *cobra.Command, fields map[string]any) error) *cobra.Command {
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
		for _, f := range also {
			f.addTo(out, body.Params[f.name])
		}
		out.AlignLeft() // mixed values, as in farmSheet
		return c.print(cmd, out)
	}
	return cmd
}

// shownField is a field that a settings command shows but does not change.
type shownField struct {
	name string
	item func(any) string // formats an item of a list in a line of its own; may be nil
}

// addTo adds the field to a table, unless it is empty.
func (f shownField) addTo(s *show.Sheet, value any) {
	if list, is := value.([]any); is && f.item != nil {
		for _, v := range list {
			s.Add(f.name, f.item(v))
		}
	} else if value != nil && value != "" {
		s.Add(f.name, value)
	}
}
