package people

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// root is the user whose settings apply to requests by root.
const root = "root"

// changeRoot changes root's own settings. For another caller the request would change that
// user's settings.
func changeRoot(c *command.Line, cmd *cobra.Command, fields map[string]any) error {
	a, err := c.Get(cmd.Context(), "/system/users")
	if err != nil {
		return c.FinishJSON(cmd, a, err)
	}
	var body struct{ Params struct{ User string } }
	if err := a.Decode(&body); err != nil {
		return err
	}
	if body.Params.User != root {
		return fmt.Errorf("only root can change root's settings; you are %s", show.Clean(body.Params.User))
	}
	a, err = c.Send(cmd.Context(), http.MethodPost, "/system/users", fields)
	return c.Finish(cmd, a, err)
}

// rootPassword changes the system's root password.
func rootPassword(c *command.Line, cmd *cobra.Command) error {
	old, new, err := command.BothPasswords(cmd)
	if err != nil {
		return err
	}
	return changeRoot(c, cmd, map[string]any{"password": old, "newpassword": new})
}
