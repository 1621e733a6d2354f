package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func (c *client) userCommand() *cobra.Command {
	return parentCommand("user", "Manage users of the API and the web interface", `  sluice user create ann
  sluice user set ann webgui_permissions=true
  sluice user password ann
  sluice user list
  sluice user totp enrol`,
		c.userCreate(), c.userSet(), c.userPassword(), c.userSecond(), c.userSessions(), c.userServices(), c.userLDAP(), c.userOIDC(), c.named("list", "List the users", "user", "/rbac/users", users),
		c.one("show", "Show a user", "user", "/rbac/users", users), c.gone("delete", "Delete a user and end its sessions", "user", "/rbac/users"))
}

// users returns a table of users.
func users(rows []map[string]any) *show.Sheet {
	s := show.NewSheet("NAME", "SERVICE", "LOG-IN", "API", "CODE", "GROUP")
	for _, r := range rows {
		s.Add(r["name"], r["service"], r["webgui_permissions"], r["zapi_permissions"], r["totp"], r["group"])
	}
	return s
}

func (c *client) userCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a user; permissions come from its group's role",
		Long: `Create a user. It has no permissions until it joins a group with a role. If your
group does not see all farms, the user is created in your group. The password is
prompted for on a terminal, else it is the first line of standard input. With
--ldap the directory verifies the password; with --oidc there is no password,
and the user logs in through the provider.`,
		Example: "  sluice user create ann\n  sluice user create ann --group shops\n  sluice user create ann < password.txt\n  sluice user create bob --ldap",
		Args:    exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	ldap := cmd.Flags().Bool("ldap", false, "the LDAP directory verifies the password")
	oidc := cmd.Flags().Bool("oidc", false, "the user logs in through an OpenID Connect provider")
	group := cmd.Flags().String("group", "", "group of the user")
	cmd.RegisterFlagCompletionFunc("group", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return c.completer([]argument{aGroup}, nil)(cmd, nil, toComplete)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"name": args[0], "service": "local"}
		if *group != "" {
			fields["group"] = *group
		}
		switch {
		case *ldap && *oidc:
			return usagef("--ldap and --oidc exclude each other")
		case *ldap:
			fields["service"] = "ldap"
		case *oidc:
			fields["service"] = "oidc"
		default:
			password, err := newPassword(cmd)
			if err != nil {
				return err
			}
			fields["password"] = password
		}
		a, err := c.send(cmd.Context(), http.MethodPost, "/rbac/users", fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) userSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set NAME [SETTING=VALUE]…", Short: "Change the permissions or the key of a user",
		Example: "  sluice user set ann webgui_permissions=true\n  sluice user set ann zapikey=s3cretKeyOfAnn zapi_permissions=true"}
	s := addSettings(cmd, people.UserUpdate.Params(), "newpassword")
	cmd.Args = atLeast(1)
	cmd.ValidArgsFunction = c.completer([]argument{aUser}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.some(cmd, args[1:])
		if err != nil {
			return err
		}
		if args[0] == root {
			return c.changeRoot(cmd, fields)
		}
		return c.put(cmd, fields, "rbac", "users", args[0])
	}
	return cmd
}

func (c *client) userPassword() *cobra.Command {
	return &cobra.Command{
		Use: "password NAME", Short: "Change the password of a user and end its sessions",
		Long: `Change the password of a user and end its sessions. The password is prompted for
on a terminal, else it is the first line of standard input. Root's password is
that of the system and is changed there; the current one is prompted for first,
or is the first of two lines.`,
		Example: "  sluice user password ann\n  sluice user password ann < password.txt", Args: exactly(1), ValidArgsFunction: c.completer([]argument{aUser}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == root {
				return c.rootPassword(cmd)
			}
			password, err := newPassword(cmd)
			if err != nil {
				return err
			}
			return c.put(cmd, map[string]any{"newpassword": password}, "rbac", "users", args[0])
		},
	}
}
