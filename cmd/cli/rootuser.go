package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// root is the user whose settings apply to requests by root.
const root = "root"

// changeRoot changes root's own settings. For another caller the request would change that
// user's settings.
func (c *client) changeRoot(cmd *cobra.Command, fields map[string]any) error {
	a, err := c.get(cmd.Context(), "/system/users")
	if err != nil {
		return c.orJSON(cmd, a, err)
	}
	var body struct{ Params struct{ User string } }
	if err := a.into(&body); err != nil {
		return err
	}
	if body.Params.User != root {
		return fmt.Errorf("only root can change root's settings; you are %s", show.Clean(body.Params.User))
	}
	a, err = c.send(cmd.Context(), http.MethodPost, "/system/users", fields)
	return c.orSay(cmd, a, err)
}

// rootPassword changes the system's root password.
func (c *client) rootPassword(cmd *cobra.Command) error {
	old, new, err := bothPasswords(cmd)
	if err != nil {
		return err
	}
	return c.changeRoot(cmd, map[string]any{"password": old, "newpassword": new})
}
