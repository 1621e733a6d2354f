package people

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func userServices(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, "/rbac/services", people.ServicesUpdate.Params(), &cobra.Command{
		Use: "services [NAME=VALUE…]", Short: "Show or change which accounts may log in with a password", Example: "  sluice user services\n  sluice user services ldap=true",
	})
}

func userLDAP(c *command.Line) *cobra.Command {
	return command.Parent("ldap", "LDAP directory for users", `  sluice user ldap config host=ldap.example.com base_dn=dc=example,dc=com
  sluice user ldap test
  sluice user services ldap=true
  sluice user create bob --ldap`,
		withSecret(c, "/rbac/ldap", people.LDAPUpdate.Params(), "bind_password", &cobra.Command{
			Use: "config [NAME=VALUE…]", Short: "Show or change the connection to the directory", Example: "  sluice user ldap config\n  sluice user ldap config bind_dn=cn=search,dc=example,dc=com --bind-password",
		}), testLDAP(c))
}

func testLDAP(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "test", Short: "Test the LDAP settings: connect, bind, search", Example: "  sluice user ldap test", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Send(cmd.Context(), http.MethodPost, "/rbac/ldap/actions", map[string]any{"action": "test"})
			return c.Finish(cmd, a, err)
		},
	}
}

func userOIDC(c *command.Line) *cobra.Command {
	return command.Parent("oidc", "OpenID Connect provider for users", `  sluice user oidc config issuer=https://id.example.com client_id=sluice
  sluice user oidc config group_claim=groups groups=netops=shops
  sluice user oidc config enabled=true`,
		withSecret(c, "/rbac/oidc", people.OIDCUpdate.Params(), "client_secret", &cobra.Command{
			Use: "config [NAME=VALUE…]", Short: "Show or change the provider", Example: "  sluice user oidc config client_id=sluice --client-secret\n  sluice user oidc config enabled=true",
		}))
}

// withSecret is settingsOf with a secret that must not be on the command line, where other
// users could see it. It is read from the terminal or from standard input.
func withSecret(c *command.Line, path string, params []field.Param, secret string,
	cmd *cobra.Command) *cobra.Command {
	flag := strings.ReplaceAll(secret, "_", "-")
	cmd.Long = cmd.Short + ". With --" + flag + " it\nis prompted for on a terminal, else it is the first line of standard input."
	asks := cmd.Flags().Bool(flag, false, "prompt for it, because other users can see the command line")
	shown := slices.DeleteFunc(params, func(p field.Param) bool { return p.Name == secret })
	return command.SettingsCommandWith(c, http.MethodPut, path, shown, nil, cmd,
		func(cmd *cobra.Command, fields map[string]any) (err error) {
			if *asks {
				fields[secret], err = command.NewPassword(cmd)
			}
			return err
		})
}

func userSessions(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List login sessions", Example: "  sluice user sessions\n  sluice user sessions end 7\n  sluice user sessions end --user ann", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/rbac/sessions")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					Session      uint64
					User, Source string
					Began, Used  time.Time
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("SESSION", "USER", "SOURCE", "BEGAN", "USED")
			for _, o := range body.Params {
				s.Add(o.Session, o.User, o.Source, command.FormatTime(o.Began), command.FormatTime(o.Used))
			}
			return c.Print(cmd, s)
		},
	}
	cmd.AddCommand(endSessions(c))
	return cmd
}

func endSessions(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "end [SESSION]", Short: "End login sessions: one, all of a user, or all", Example: "  sluice user sessions end 7\n  sluice user sessions end --user ann\n  sluice user sessions end --all", Args: command.Between(0, 1), ValidArgsFunction: c.Completer([]command.Argument{command.LoginID}, nil),
	}
	user := cmd.Flags().String("user", "", "all sessions of this user")
	all := cmd.Flags().Bool("all", false, "everybody's")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := len(args)
		for _, name := range []string{"user", "all"} {
			if cmd.Flags().Changed(name) {
				given++
			}
		}
		if given != 1 {
			return command.Usagef("give a session, --user NAME, or --all")
		}
		if len(args) == 1 {
			return c.Delete(cmd, "rbac", "sessions", args[0])
		}
		r := client.Request{Method: http.MethodDelete, Path: "/rbac/sessions"}
		if !*all {
			r.Query = url.Values{"user": {*user}}
		}
		a, err := c.Do(cmd.Context(), r)
		return c.Finish(cmd, a, err)
	}
	return cmd
}
