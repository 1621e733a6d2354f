package cli

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func (c *client) userServices() *cobra.Command {
	return c.settingsOf("/rbac/services", people.ServicesUpdate.Params(), &cobra.Command{
		Use: "services [NAME=VALUE…]", Short: "Show or change which accounts may log in with a password", Example: "  sluice user services\n  sluice user services ldap=true",
	})
}

func (c *client) userLDAP() *cobra.Command {
	return parentCommand("ldap", "LDAP directory for users", `  sluice user ldap config host=ldap.example.com base_dn=dc=example,dc=com
  sluice user ldap test
  sluice user services ldap=true
  sluice user create bob --ldap`,
		c.withSecret("/rbac/ldap", people.LDAPUpdate.Params(), "bind_password", &cobra.Command{
			Use: "config [NAME=VALUE…]", Short: "Show or change the connection to the directory", Example: "  sluice user ldap config\n  sluice user ldap config bind_dn=cn=search,dc=example,dc=com --bind-password",
		}), c.testLDAP())
}

func (c *client) testLDAP() *cobra.Command {
	return &cobra.Command{
		Use: "test", Short: "Test the LDAP settings: connect, bind, search", Example: "  sluice user ldap test", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.send(cmd.Context(), http.MethodPost, "/rbac/ldap/actions", map[string]any{"action": "test"})
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) userOIDC() *cobra.Command {
	return parentCommand("oidc", "OpenID Connect provider for users", `  sluice user oidc config issuer=https://id.example.com client_id=sluice
  sluice user oidc config group_claim=groups groups=netops=shops
  sluice user oidc config enabled=true`,
		c.withSecret("/rbac/oidc", people.OIDCUpdate.Params(), "client_secret", &cobra.Command{
			Use: "config [NAME=VALUE…]", Short: "Show or change the provider", Example: "  sluice user oidc config client_id=sluice --client-secret\n  sluice user oidc config enabled=true",
		}))
}

// withSecret is settingsOf with a secret that must not be on the command line, where other
// users could see it. It is read from the terminal or from standard input.
func (c *client) withSecret(path string, params []field.Param, secret string, cmd *cobra.Command) *cobra.Command {
	flag := strings.ReplaceAll(secret, "_", "-")
	cmd.Long = cmd.Short + ". With --" + flag + " it\nis prompted for on a terminal, else it is the first line of standard input."
	asks := cmd.Flags().Bool(flag, false, "prompt for it, because other users can see the command line")
	shown := slices.DeleteFunc(params, func(p field.Param) bool { return p.Name == secret })
	return c.settingsWith(http.MethodPut, path, shown, nil, cmd, func(cmd *cobra.Command, fields map[string]any) (err error) {
		if *asks {
			fields[secret], err = newPassword(cmd)
		}
		return err
	})
}

func (c *client) userSessions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List login sessions", Example: "  sluice user sessions\n  sluice user sessions end 7\n  sluice user sessions end --user ann", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), "/rbac/sessions")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					Session      uint64
					User, Source string
					Began, Used  time.Time
				}
			}
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("SESSION", "USER", "SOURCE", "BEGAN", "USED")
			for _, o := range body.Params {
				s.Add(o.Session, o.User, o.Source, when(o.Began), when(o.Used))
			}
			return c.print(cmd, s)
		},
	}
	cmd.AddCommand(c.endSessions())
	return cmd
}

func (c *client) endSessions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "end [SESSION]", Short: "End login sessions: one, all of a user, or all", Example: "  sluice user sessions end 7\n  sluice user sessions end --user ann\n  sluice user sessions end --all", Args: between(0, 1), ValidArgsFunction: c.completer([]argument{aLogIn}, nil),
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
			return usagef("give a session, --user NAME, or --all")
		}
		if len(args) == 1 {
			return c.remove(cmd, "rbac", "sessions", args[0])
		}
		r := request{method: http.MethodDelete, path: "/rbac/sessions"}
		if !*all {
			r.query = url.Values{"user": {*user}}
		}
		a, err := c.do(cmd.Context(), r)
		return c.orSay(cmd, a, err)
	}
	return cmd
}
