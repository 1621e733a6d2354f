package cli

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// deleteAt deletes the object at a path and prints the result.
func (c *client) deleteAt(cmd *cobra.Command, path string) error {
	a, err := c.do(cmd.Context(), request{method: http.MethodDelete, path: path})
	return c.orSay(cmd, a, err)
}

// set sends the settings to the object.
func (c *client) set(cmd *cobra.Command, s *settings, args []string, object ...string) error {
	fields, err := s.some(cmd, args)
	if err != nil {
		return err
	}
	path, err := pathOf(object...)
	if err != nil {
		return err
	}
	a, err := c.send(cmd.Context(), http.MethodPut, path, fields)
	return c.orSay(cmd, a, err)
}

func (c *client) remove(cmd *cobra.Command, object ...string) error {
	path, err := pathOf(object...)
	if err != nil {
		return err
	}
	return c.deleteAt(cmd, path)
}

// put changes the object at a path.
func (c *client) put(cmd *cobra.Command, fields map[string]any, path ...string) error {
	at, err := pathOf(path...)
	if err != nil {
		return err
	}
	a, err := c.send(cmd.Context(), http.MethodPut, at, fields)
	return c.orSay(cmd, a, err)
}

// post adds something to the object at a path.
func (c *client) post(cmd *cobra.Command, fields map[string]any, path ...string) error {
	at, err := pathOf(path...)
	if err != nil {
		return err
	}
	a, err := c.send(cmd.Context(), http.MethodPost, at, fields)
	return c.orSay(cmd, a, err)
}

// named returns a command that lists the objects at a path.
func (c *client) named(use, short, what, path string, rows func([]map[string]any) *show.Sheet) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: "  sluice " + what + " " + use, Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params []map[string]any }
			if err := a.into(&body); err != nil {
				return err
			}
			return c.print(cmd, rows(body.Params))
		},
	}
}

// one returns a command that shows one object.
func (c *client) one(use, short, what, path string, rows func([]map[string]any) *show.Sheet) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  sluice " + what + " " + use + " " + exampleNames[what], Args: exactly(1), ValidArgsFunction: c.completer([]argument{namedKinds[what]}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := pathOf(append(strings.Split(strings.TrimPrefix(path, "/"), "/"), args[0])...)
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), at)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params map[string]any }
			if err := a.into(&body); err != nil {
				return err
			}
			return c.print(cmd, rows([]map[string]any{body.Params}))
		},
	}
}

// gone returns a command that deletes one object.
func (c *client) gone(use, short, what, path string) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  sluice " + what + " " + use + " " + exampleNames[what], Args: exactly(1), ValidArgsFunction: c.completer([]argument{namedKinds[what]}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, append(strings.Split(strings.TrimPrefix(path, "/"), "/"), args[0])...)
		},
	}
}

// namedKinds maps words to kinds of objects.
var namedKinds = map[string]argument{"user": aUser, "group": aGroup, "role": aRole, "backup": aBackup}

// exampleNames are the names in help examples.
var exampleNames = map[string]string{"user": "ann", "group": "shops", "role": "ops", "backup": "monday"}
