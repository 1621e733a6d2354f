package people

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func groupCommand(c *command.Line) *cobra.Command {
	return command.Parent("group", "Manage groups: users, their role and their farms", `  sluice group create shops
  sluice group role shops management
  sluice group add shops ann
  sluice group add-farm shops shop`,
		namedCreate(c, "create", "Create a group without users and without a role", "group", "rbac", "groups"), groupRole(c),
		groupSet(c),
		member(c, "add GROUP USER", "Add a user to a group", "users", http.MethodPost, command.UserName), member(c, "remove GROUP USER", "Remove a user from a group", "users", http.MethodDelete, command.UserName),
		member(c, "add-farm GROUP FARM", "Give the users of a group access to a farm", "farms", http.MethodPost, command.FarmName),
		member(c, "remove-farm GROUP FARM", "Revoke the access", "farms", http.MethodDelete, command.FarmName),
		command.ListCommand(c, "list", "List the groups", "group", "/rbac/groups", userGroups), command.ShowCommand(c, "show", "Show a group", "group", "/rbac/groups", userGroups),
		command.DeleteCommand(c, "delete", "Delete a group; its users stay, without permissions", "group", "/rbac/groups"))
}

func userGroups(rows []map[string]any) *show.Sheet {
	s := show.NewSheet("NAME", "ROLE", "USERS", "FARMS", "INTERFACES")
	for _, r := range rows {
		resources, _ := r["resources"].(map[string]any)
		s.Add(r["name"], r["role"], joined(r["users"]), groupFarms(r), joined(resources["interfaces"]))
	}
	return s
}

// groupFarms returns the farms of a group, or "(all)".
func groupFarms(group map[string]any) string {
	if group["all_farms"] == "true" {
		return "(all)"
	}
	resources, _ := group["resources"].(map[string]any)
	return joined(resources["farms"])
}

// joined returns a list as one text.
func joined(list any) string {
	items, _ := list.([]any)
	var out []string
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return strings.Join(out, ", ")
}

// namedCreate returns a command that creates an object with a name only.
func namedCreate(c *command.Line, use, short, what string, path ...string) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Example: "  sluice " + what + " " + use + " " + command.ExampleNames[what], Args: command.Exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Post(cmd, map[string]any{"name": args[0]}, path...)
		},
	}
}

func groupRole(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "role GROUP [ROLE]", Short: "Set the role of a group; without a role its users have no permissions", Example: "  sluice group role shops management\n  sluice group role shops",
		Args: command.Between(1, 2), ValidArgsFunction: c.Completer([]command.Argument{command.GroupName,
			command.RoleName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Put(cmd, map[string]any{"role": strings.Join(args[1:], "")}, "rbac", "groups", args[0])
		},
	}
}

func groupSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{Use: "set GROUP [SETTING=VALUE]…", Short: "Change the role of a group, or give it access to all farms",
		Long: `Change the role of a group, or give it access to all farms. With all_farms=true
its users have access to every farm, including later ones. A program that reads
/metrics needs such a group: the key of a user whose group only lists farms
stops working when a farm is added. With false the farms that were added to the
group remain.`,
		Example: "  sluice group set shops all_farms=true\n  sluice group set shops role=monitoring all_farms=false"}
	s := command.AddSettings(cmd, people.GroupUpdate.Params())
	cmd.Args = command.AtLeast(1)
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.GroupName}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.ReadSome(cmd, args[1:])
		if err != nil {
			return err
		}
		return c.Put(cmd, fields, "rbac", "groups", args[0])
	}
	return cmd
}

// member returns a command that adds a member to a group or removes it.
func member(c *command.Line, use, short, kind, method string, second command.Argument) *cobra.Command {
	name := map[command.Argument]string{command.UserName: "ann", command.FarmName: "shop"}[second]
	return &cobra.Command{
		Use: use, Short: short, Example: "  sluice group " + strings.Fields(use)[0] + " shops " + name,
		Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.GroupName, second}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			if method == http.MethodDelete {
				return c.Delete(cmd, "rbac", "groups", args[0], kind, args[1])
			}
			return c.Post(cmd, map[string]any{"name": args[1]}, "rbac", "groups", args[0], kind)
		},
	}
}

func roleCommand(c *command.Line) *cobra.Command {
	return command.Parent("role", "Manage roles: permissions of the users of a group", `  sluice role create ops --copy-from management
  sluice role set ops farm.create=true farm.delete=true
  sluice role show ops`,
		roleCreate(c), roleSet(c), command.ListCommand(c, "list", "List the roles", "role", "/rbac/roles", roles), roleShow(c),
		command.DeleteCommand(c, "delete", "Delete an unused role", "role", "/rbac/roles"))
}

func roles(rows []map[string]any) *show.Sheet {
	s := show.NewSheet("NAME", "PREDEFINED")
	for _, r := range rows {
		s.Add(r["name"], r["predefined"])
	}
	return s
}

func roleCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a role, without permissions or as a copy of another",
		Example: "  sluice role create ops\n  sluice role create ops --copy-from management", Args: command.Exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	from := cmd.Flags().String("copy-from", "", "role to copy the permissions from")
	cmd.RegisterFlagCompletionFunc("copy-from", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return c.Completer([]command.Argument{command.RoleName}, nil)(cmd, nil, toComplete)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"name": args[0]}
		if *from != "" {
			fields["copy_from"] = *from
		}
		return c.Post(cmd, fields, "rbac", "roles")
	}
	return cmd
}

func roleSet(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "set NAME SECTION.PERMISSION=true|false…", Short: "Grant or revoke permissions of a role",
		Example: "  sluice role set ops farm.create=true farm.delete=false", Args: command.AtLeast(2), ValidArgsFunction: c.Completer([]command.Argument{command.RoleName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			fields := map[string]any{}
			for _, arg := range args[1:] {
				permission, value, ok := strings.Cut(arg, "=")
				section, name, named := strings.Cut(permission, ".")
				if !ok || !named {
					return command.Usagef("%q is not a permission: write SECTION.PERMISSION=true or =false, e.g. farm.create=true", arg)
				}
				of, _ := fields[section].(map[string]any)
				if of == nil {
					of = map[string]any{}
					fields[section] = of
				}
				of[name] = value
			}
			return c.Put(cmd, fields, "rbac", "roles", args[0])
		},
	}
}

func roleShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the permissions of a role", Example: "  sluice role show management", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.RoleName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := client.Path("rbac", "roles", args[0])
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), at)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params map[string]map[string]string }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("SECTION", "MAY", "MAY NOT")
			for _, section := range slices.Sorted(maps.Keys(body.Params)) {
				s.Add(section, those(body.Params[section], "true"), those(body.Params[section], "false"))
			}
			return c.Print(cmd, s)
		},
	}
}

// those returns the permissions of a section with value so.
func those(permissions map[string]string, so string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(permissions)) {
		if permissions[name] == so {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
