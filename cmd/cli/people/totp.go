package people

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

const secondPath = "/system/users/totp"

func userSecond(c *command.Line) *cobra.Command {
	return command.Parent("totp", "Your second factor: codes of an authenticator app at login", `  sluice user totp enrol
  sluice user totp confirm 123456
  sluice user totp
  sluice user totp reset ann`,
		secondShow(c), secondEnrol(c), secondConfirm(c), secondRecovery(c), secondDisable(c), secondReset(c))
}

func secondShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show whether login requires a code, and how many recovery codes are left", Example: "  sluice user totp show", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), secondPath)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params map[string]any }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("STATUS", "RECOVERY CODES")
			s.Add(body.Params["status"], body.Params["recovery_codes"])
			return c.Print(cmd, s)
		},
	}
}

func secondEnrol(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "enrol", Short: "Create a secret for an authenticator app; it is shown only once",
		Long: `Create a secret for an authenticator app; it is shown only once, alone on the
last line. Login requires a code only after one has been confirmed. With --url
your password is prompted for, or is the first line of standard input.`,
		Example: "  sluice user totp enrol\n  sluice user totp enrol --url https://lb.example.com:444 < password.txt", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			password, err := ownPassword(c, cmd)
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, secondPath, map[string]any{"password": password})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Secret, URI string } }
			if err := a.Decode(&body); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Scan this as a QR code, or type the secret into the app; then: sluice user totp confirm CODE\n%s\n%s\n", show.Clean(body.Params.URI), show.Clean(body.Params.Secret))
			return err
		},
	}
}

// ownPassword asks for the current password if needed. The local socket authenticates the
// caller.
func ownPassword(c *command.Line, cmd *cobra.Command) (string, error) {
	if c.API.URL == "" && c.API.APIKey() == "" {
		return "none", nil
	}
	return command.CurrentPassword(cmd)
}

func secondConfirm(c *command.Line) *cobra.Command {
	return secondAction(c, "confirm CODE", "Require codes at login from now on; the recovery codes are shown only once", "123456", false)
}

func secondRecovery(c *command.Line) *cobra.Command {
	return secondAction(c, "recovery [CODE]", "Create new recovery codes, which replace the old ones; they are shown only once", "123456", false)
}

func secondDisable(c *command.Line) *cobra.Command {
	return secondAction(c, "disable [CODE]", "Disable your second factor; with --url this needs password and code", "123456", true)
}

// secondAction returns a command that may need a code.
func secondAction(c *command.Line, use, short, example string, password bool) *cobra.Command {
	action := strings.Fields(use)[0]
	cmd := &cobra.Command{Use: use, Short: short, Example: "  sluice user totp " + action + " " + example, Args: command.Between(0, 1), ValidArgsFunction: cobra.NoFileCompletions}
	if action == "confirm" {
		cmd.Args = command.Exactly(1)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"action": action}
		if len(args) > 0 {
			fields["code"] = args[0]
		}
		if password {
			text, err := ownPassword(c, cmd)
			if err != nil {
				return err
			}
			fields["password"] = text
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, secondPath+"/actions", fields)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params struct{ Codes []string } }
		if err := a.Decode(&body); err != nil {
			return err
		}
		if err := c.PrintMessage(cmd, a); err != nil {
			return err
		}
		for _, code := range body.Params.Codes {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), show.Clean(code)); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func secondReset(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "reset NAME", Short: "Remove the second factor of a user who lost the device", Example: "  sluice user totp reset ann", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.UserName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.Delete(cmd, "rbac", "users", args[0], "totp") },
	}
}
