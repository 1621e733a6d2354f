package command

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// SettingsCommand returns a command that shows the settings at a path, or changes them by PUT.
func SettingsCommand(c *Line, path string, params []field.Param, cmd *cobra.Command) *cobra.Command {
	return SettingsCommandBy(c, http.MethodPut, path, params, nil, cmd)
}

// SettingsCommandBy is SettingsCommand with another method, and additional fields to show.
func SettingsCommandBy(c *Line, method, path string, params []field.Param, also []ShownField,
	cmd *cobra.Command) *cobra.Command {
	return SettingsCommandWith(c, method, path, params, also, cmd,
		func(*cobra.Command, map[string]any) error { return nil })
}

// SettingsCommandWith is SettingsCommandBy with additional fields set by more.
func SettingsCommandWith(c *Line, method, path string, params []field.Param, also []ShownField,
	cmd *cobra.Command, more func(cmd *cobra.Command, fields map[string]any) error) *cobra.Command {
	s := AddSettings(cmd, params)
	cmd.Annotations[showsSettings] = "yes"
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return s.Complete(toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args)
		if err != nil {
			return err
		}
		if err := more(cmd, fields); err != nil {
			return err
		}
		if len(fields) > 0 {
			a, err := c.Send(cmd.Context(), method, path, fields)
			return c.Finish(cmd, a, err)
		}
		a, err := c.Get(cmd.Context(), path)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params map[string]any }
		if err := a.Decode(&body); err != nil {
			return err
		}
		out := show.NewSheet("SETTING", "VALUE")
		for _, p := range params {
			out.Add(p.Name, body.Params[p.Name])
		}
		for _, f := range also {
			f.addTo(out, body.Params[f.Name])
		}
		out.AlignLeft() // mixed values, as in farmSheet
		return c.Print(cmd, out)
	}
	return cmd
}

// ShownField is a field that a settings command shows but does not change.
type ShownField struct {
	Name string
	Item func(any) string // formats an item of a list in a line of its own; may be nil
}

// addTo adds the field to a table, unless it is empty.
func (f ShownField) addTo(s *show.Sheet, value any) {
	if list, is := value.([]any); is && f.Item != nil {
		for _, v := range list {
			s.Add(f.Name, f.Item(v))
		}
	} else if value != nil && value != "" {
		s.Add(f.Name, value)
	}
}
