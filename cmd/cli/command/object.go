package command

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// DeleteAt deletes the object at a path and prints the result.
func (c *Line) DeleteAt(cmd *cobra.Command, path string) error {
	a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodDelete, Path: path})
	return c.Finish(cmd, a, err)
}

// Set sends the settings to the object.
func (c *Line) Set(cmd *cobra.Command, s *Settings, args []string, object ...string) error {
	fields, err := s.ReadSome(cmd, args)
	if err != nil {
		return err
	}
	path, err := client.Path(object...)
	if err != nil {
		return err
	}
	a, err := c.Send(cmd.Context(), http.MethodPut, path, fields)
	return c.Finish(cmd, a, err)
}

// Delete deletes an object and prints the result.
func (c *Line) Delete(cmd *cobra.Command, object ...string) error {
	path, err := client.Path(object...)
	if err != nil {
		return err
	}
	return c.DeleteAt(cmd, path)
}

// Put changes the object at a path.
func (c *Line) Put(cmd *cobra.Command, fields map[string]any, path ...string) error {
	at, err := client.Path(path...)
	if err != nil {
		return err
	}
	a, err := c.Send(cmd.Context(), http.MethodPut, at, fields)
	return c.Finish(cmd, a, err)
}

// Post adds something to the object at a path.
func (c *Line) Post(cmd *cobra.Command, fields map[string]any, path ...string) error {
	at, err := client.Path(path...)
	if err != nil {
		return err
	}
	a, err := c.Send(cmd.Context(), http.MethodPost, at, fields)
	return c.Finish(cmd, a, err)
}

// ListCommand returns a command that lists the objects at a path.
func ListCommand(c *Line, use, short, what, path string,
	rows func([]map[string]any) *show.Sheet) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: "  sluice " + what + " " + use, Args: Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params []map[string]any }
			if err := a.Decode(&body); err != nil {
				return err
			}
			return c.Print(cmd, rows(body.Params))
		},
	}
}

// ShowCommand returns a command that shows one object.
func ShowCommand(c *Line, use, short, what, path string,
	rows func([]map[string]any) *show.Sheet) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  sluice " + what + " " + use + " " + ExampleNames[what], Args: Exactly(1), ValidArgsFunction: c.Completer([]Argument{namedKinds[what]}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := client.Path(append(strings.Split(strings.TrimPrefix(path, "/"), "/"), args[0])...)
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), at)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params map[string]any }
			if err := a.Decode(&body); err != nil {
				return err
			}
			return c.Print(cmd, rows([]map[string]any{body.Params}))
		},
	}
}

// DeleteCommand returns a command that deletes one object.
func DeleteCommand(c *Line, use, short, what, path string) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  sluice " + what + " " + use + " " + ExampleNames[what], Args: Exactly(1), ValidArgsFunction: c.Completer([]Argument{namedKinds[what]}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Delete(cmd, append(strings.Split(strings.TrimPrefix(path, "/"), "/"), args[0])...)
		},
	}
}

// namedKinds maps words to kinds of objects.
var namedKinds = map[string]Argument{"user": UserName, "group": GroupName, "role": RoleName, "backup": BackupName}

// ExampleNames are the names in help examples.
var ExampleNames = map[string]string{"user": "ann", "group": "shops", "role": "ops", "backup": "monday"}
