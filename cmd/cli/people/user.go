package people

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func userCommand(c *command.Line) *cobra.Command {
	return command.Parent("user", "Manage users of the API and the web interface", `  sluice user create ann
  sluice user set ann webgui_permissions=true
  sluice user password ann
  sluice user list
  sluice user totp enrol`,
		userCreate(c), userSet(c), userPassword(c), userSecond(c), userSessions(c), userServices(c), userLDAP(c), userOIDC(c), command.ListCommand(c, "list", "List the users", "user", "/rbac/users", users),
		command.ShowCommand(c, "show", "Show a user", "user", "/rbac/users", users), command.DeleteCommand(c, "delete", "Delete a user and end its sessions", "user", "/rbac/users"))
}

// users returns a table of users.
func users(rows []map[string]any) *show.Sheet {
	s := show.NewSheet("NAME", "SERVICE", "LOG-IN", "API", "CODE", "GROUP")
	for _, r := range rows {
		s.Add(r["name"], r["service"], r["webgui_permissions"], r["zapi_permissions"], r["totp"], r["group"])
	}
	return s
}

func userCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a user; permissions come from its group's role",
		Long: `Create a user. It has no permissions until it joins a group with a role. If your
group does not see all farms, the user is created in your group. The password is
prompted for on a terminal, else it is the first line of standard input. With
--ldap the directory verifies the password; with --oidc there is no password,
and the user logs in through the provider.`,
		Example: "  sluice user create ann\n  sluice user create ann --group shops\n  sluice user create ann < password.txt\n  sluice user create bob --ldap",
		Args:    command.Exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	ldap := cmd.Flags().Bool("ldap", false, "the LDAP directory verifies the password")
	oidc := cmd.Flags().Bool("oidc", false, "the user logs in through an OpenID Connect provider")
	group := cmd.Flags().String("group", "", "group of the user")
	cmd.RegisterFlagCompletionFunc("group", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return c.Completer([]command.Argument{command.GroupName}, nil)(cmd, nil, toComplete)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"name": args[0], "service": "local"}
		if *group != "" {
			fields["group"] = *group
		}
		switch {
		case *ldap && *oidc:
			return command.Usagef("--ldap and --oidc exclude each other")
		case *ldap:
			fields["service"] = "ldap"
		case *oidc:
			fields["service"] = "oidc"
		default:
			password, err := command.NewPassword(cmd)
			if err != nil {
				return err
			}
			fields["password"] = password
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, "/rbac/users", fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func userSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{Use: "set NAME [SETTING=VALUE]…", Short: "Change the permissions or the key of a user",
		Example: "  sluice user set ann webgui_permissions=true\n  sluice user set ann zapikey=s3cretKeyOfAnn zapi_permissions=true"}
	s := command.AddSettings(cmd, people.UserUpdate.Params(), "newpassword")
	cmd.Args = command.AtLeast(1)
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.UserName}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.ReadSome(cmd, args[1:])
		if err != nil {
			return err
		}
		if args[0] == root {
			return changeRoot(c, cmd, fields)
		}
		return c.Put(cmd, fields, "rbac", "users", args[0])
	}
	return cmd
}

func userPassword(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "password NAME", Short: "Change the password of a user and end its sessions",
		Long: `Change the password of a user and end its sessions. The password is prompted for
on a terminal, else it is the first line of standard input. Root's password is
that of the system and is changed there; the current one is prompted for first,
or is the first of two lines.`,
		Example: "  sluice user password ann\n  sluice user password ann < password.txt", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.UserName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == root {
				return rootPassword(c, cmd)
			}
			password, err := command.NewPassword(cmd)
			if err != nil {
				return err
			}
			return c.Put(cmd, map[string]any{"newpassword": password}, "rbac", "users", args[0])
		},
	}
}
