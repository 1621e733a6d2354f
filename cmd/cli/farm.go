package cli

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// oneFarm completes the single argument that names a farm.
var oneFarm = []argument{aFarm}

func (c *client) farmCommand() *cobra.Command {
	return group("farm", "Manage farms", `  sluice farm list
  sluice farm create shop vip=192.0.2.10 vport=80
  sluice farm set shop contimeout=5
  sluice farm stop shop`,
		c.farmList(), c.farmShow(), c.farmCreate(), c.farmSet(), c.farmDelete(),
		c.farmAction("start", "Start farms", "  sluice farm start shop"),
		c.farmAction("stop", "Stop farms; their configuration is kept", "  sluice farm stop shop"),
		c.farmAction("restart", "Stop and start farms; their connections end", "  sluice farm restart shop"))
}

type farmLine struct {
	FarmName, Profile, Status, VIP, Problem string
	VPort                                   int
}

func (c *client) farmList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the farms", Example: "  sluice farm list\n  sluice farm list --json",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), "/farms")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params []farmLine }
			if err := a.into(&body); err != nil {
				return err
			}
			s := newSheet("FARM", "STATUS", "PROFILE", "VIP", "VPORT", "PROBLEM")
			for _, f := range body.Params {
				s.add(f.FarmName, f.Status, f.Profile, f.VIP, f.VPort, f.Problem)
			}
			return c.print(cmd, s)
		},
	}
}

// orJSON ends a command that failed or has to print the answer as it is.
func (c *client) orJSON(cmd *cobra.Command, a answer, err error) error {
	if err != nil {
		return err
	}
	return c.printJSON(cmd, a)
}

type farmDetails struct {
	Params   map[string]any
	Services []service
}

func (c *client) farmShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FARM", Short: "Show one farm, its services and its backends", Example: "  sluice farm show shop",
		Args: exactly(1), ValidArgsFunction: c.completer(oneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0])
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body farmDetails
			if err := a.into(&body); err != nil {
				return err
			}
			if err := c.print(cmd, c.farmSheet(body.Params)); err != nil || len(body.Services) == 0 {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return c.print(cmd, backendSheet(body.Services))
		},
	}
}

// farmSheet shows the settings of a farm in the order the tables have them.
func (c *client) farmSheet(values map[string]any) *sheet {
	s := newSheet("SETTING", "VALUE")
	for _, name := range []string{"farmname", "profile", "status", "problem"} {
		if v, ok := values[name]; ok {
			s.add(name, v)
		}
	}
	for _, p := range validate.FarmUpdate.Params() {
		if v, ok := values[p.Name]; ok {
			s.add(p.Name, v)
		}
	}
	s.right = nil // one column of mixed values reads better from the left
	return s
}

func (c *client) farmCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM vip=ADDRESS vport=PORT [NAME=VALUE…]", Short: "Create a farm",
		Example: "  sluice farm create shop vip=192.0.2.10 vport=80\n  sluice farm create twin --vip 192.0.2.10 --vport 81 --copy-from shop",
		Args:    atLeast(1),
	}
	later := slices.DeleteFunc(validate.FarmUpdate.Params(), func(p validate.Param) bool {
		return p.Name == "vip" || p.Name == "vport" || p.Name == "newfarmname"
	})
	s := addSettings(cmd, append(validate.FarmCreate.Params(), later...), "farmname")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.read(cmd, args[1:])
		if err != nil {
			return err
		}
		if _, given := fields["profile"]; !given {
			fields["profile"] = "http"
		}
		fields["farmname"] = args[0]
		more := split(fields, later)
		return c.create(cmd, "/farms", []string{"farms", args[0]}, fields, more)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.complete(toComplete)
	}
	return cmd
}

// split takes the fields of params out of fields.
func split(fields map[string]any, params []validate.Param) map[string]any {
	out := map[string]any{}
	for _, p := range params {
		if v, ok := fields[p.Name]; ok {
			out[p.Name] = v
			delete(fields, p.Name)
		}
	}
	return out
}

// create makes an object and then sets what its creation does not take. When
// that is refused the object is removed again: all or nothing.
func (c *client) create(cmd *cobra.Command, collection string, object []string, fields, more map[string]any) error {
	a, err := c.send(cmd.Context(), http.MethodPost, collection, fields)
	if err != nil || len(more) == 0 {
		return c.orSay(cmd, a, err)
	}
	path, err := pathOf(object...)
	if err != nil {
		return err
	}
	if _, err := c.send(cmd.Context(), http.MethodPut, path, more); err != nil {
		if _, undo := c.do(cmd.Context(), request{method: http.MethodDelete, path: path}); undo != nil {
			return fmt.Errorf("%w; and what was created is still there: %w", err, undo)
		}
		return err
	}
	return c.say(cmd, a)
}

func (c *client) orSay(cmd *cobra.Command, a answer, err error) error {
	if err != nil {
		return err
	}
	return c.say(cmd, a)
}

func (c *client) farmSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM NAME=VALUE…", Short: "Change settings of a farm", Args: atLeast(1),
		Example: "  sluice farm set shop contimeout=5 reqtimeout=10\n  sluice farm set shop --error503 'Back in a minute'",
	}
	s := addSettings(cmd, validate.FarmUpdate.Params())
	cmd.ValidArgsFunction = c.completer(oneFarm, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.set(cmd, s, args[1:], "farms", args[0]) }
	return cmd
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

func (c *client) farmDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM", Short: "Stop and delete a farm", Example: "  sluice farm delete shop",
		Args: exactly(1), ValidArgsFunction: c.completer(oneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.remove(cmd, "farms", args[0]) },
	}
}

func (c *client) remove(cmd *cobra.Command, object ...string) error {
	path, err := pathOf(object...)
	if err != nil {
		return err
	}
	a, err := c.do(cmd.Context(), request{method: http.MethodDelete, path: path})
	return c.orSay(cmd, a, err)
}

func (c *client) farmAction(action, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: action + " FARM…", Short: short, Example: example, Args: atLeast(1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return c.completer(oneFarm, nil)(cmd, nil, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				path, err := pathOf("farms", name, "actions")
				if err != nil {
					return err
				}
				a, err := c.send(cmd.Context(), http.MethodPut, path, map[string]any{"action": action})
				if err := c.orSay(cmd, a, err); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
