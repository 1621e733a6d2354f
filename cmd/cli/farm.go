package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func (c *client) farmCommand() *cobra.Command {
	return parentCommand("farm", "Manage farms", `  sluice farm list
  sluice farm create shop vip=192.0.2.10 vport=80
  sluice farm create dns --profile l4xnat vip=192.0.2.10 vport=53 protocol=udp
  sluice farm set shop contimeout=5
  sluice farm stop shop
  sluice farm explain dns`,
		c.farmList(), c.farmShow(), c.farmCreate(), c.farmCopy(), c.farmSet(), c.farmRename(), c.farmDelete(),
		c.farmAction("start", "Start farms", "  sluice farm start shop"),
		c.farmAction("stop", "Stop farms and keep their configuration", "  sluice farm stop shop"),
		c.farmAction("restart", "Restart farms; connections end, but requests to http farms finish", "  sluice farm restart shop"),
		c.farmExplain())
}

type farmLine struct {
	FarmName, Profile, Status, VIP, VPort, Problem string
	Tags                                           []string
}

// reason returns the reason for the status.
func (f farmLine) reason() string {
	if f.Problem == "" && f.Status == "down" {
		return "stopped"
	}
	return f.Problem
}

// farmsSheet returns a table of farms, with tags if there are any.
func farmsSheet(farms []farmLine) *show.Sheet {
	heading := []string{"FARM", "STATUS", "PROFILE", "VIP", "VPORT", "PROBLEM"}
	tagged := slices.ContainsFunc(farms, func(f farmLine) bool { return len(f.Tags) > 0 })
	if tagged {
		heading = append(heading, "TAGS")
	}
	s := show.NewSheet(heading...)
	for _, f := range farms {
		row := []any{f.FarmName, f.Status, f.Profile, f.VIP, f.VPort, f.reason()}
		if tagged {
			row = append(row, strings.Join(f.Tags, ", "))
		}
		s.Add(row...)
	}
	return s
}

func (c *client) farmList() *cobra.Command {
	var tag string
	cmd := &cobra.Command{
		Use: "list", Short: "List the farms", Example: "  sluice farm list\n  sluice farm list --tag production\n  sluice farm list --json",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/farms"
			if tag != "" {
				path += "?" + url.Values{"tag": {tag}}.Encode()
			}
			a, err := c.get(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params []farmLine }
			if err := a.into(&body); err != nil {
				return err
			}
			return c.print(cmd, farmsSheet(body.Params))
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "only farms with a tag that contains this text")
	return cmd
}

type farmDetails struct {
	Params   map[string]any
	Services []service
	Backends []backend // of a farm without services
}

// profile returns the profile name in responses.
func (f farmDetails) profile() string {
	word, _ := f.Params["profile"].(string)
	return word
}

func (c *client) farmShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FARM", Short: "Show a farm with its services and backends", Example: "  sluice farm show shop",
		Args: exactly(1), ValidArgsFunction: c.completer(oneFarm, nil),
		RunE: c.aboutFarm(func(cmd *cobra.Command, body farmDetails) error {
			if len(body.Backends) > 0 {
				body.Services = []service{{Backends: body.Backends}}
			}
			if err := c.print(cmd, farmSheet(body)); err != nil || len(body.Services) == 0 {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return c.print(cmd, backendSheet(body.Services))
		}),
	}
}

// aboutFarm runs show with the details of the farm in the first argument; --json prints the
// response.
func (c *client) aboutFarm(show func(cmd *cobra.Command, f farmDetails) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		path, err := pathOf("farms", args[0])
		if err != nil {
			return err
		}
		a, err := c.brief(cmd.Context(), path)
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body farmDetails
		if err := a.into(&body); err != nil {
			return err
		}
		return show(cmd, body)
	}
}

// farmSheet returns the settings of a farm in table order.
func farmSheet(f farmDetails) *show.Sheet {
	s := show.NewSheet("SETTING", "VALUE")
	for _, name := range []string{"farmname", "profile", "status", "configured", "maintenance", "actual", "problem", "carrier", "carrier_reason", "warnings"} {
		if v, ok := f.Params[name]; ok {
			s.Add(name, v)
		}
	}
	for _, p := range profile.Named(farm.Profile(f.profile())).Farm().Update.Params() {
		if v, ok := f.Params[p.Name]; ok {
			s.Add(p.Name, v)
		}
	}
	s.AlignLeft() // a column of mixed values reads better left-aligned
	return s
}

// farmSections returns the settings of farms of all profiles, without exceptions.
func farmSections(except ...string) []section {
	return sections(func(p profile.Profile) []field.Param { return without(p.Farm().Update.Params(), except...) })
}

// sections returns settings by profile, http farms first.
func sections(of func(profile.Profile) []field.Param) (out []section) {
	for i, p := range profile.All() {
		title := ""
		if i > 0 {
			title = "in " + string(p.Name()) + " farms"
		}
		out = append(out, section{title, of(p)})
	}
	return out
}

func without(params []field.Param, names ...string) []field.Param {
	return slices.DeleteFunc(params, func(p field.Param) bool { return slices.Contains(names, p.Name) })
}

func (c *client) farmCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM vip=ADDRESS vport=PORT [NAME=VALUE…]", Short: "Create a farm",
		Example: "  sluice farm create shop vip=192.0.2.10 vport=80\n  sluice farm create twin --vip 192.0.2.10 --vport 81 --copy-from shop\n" +
			"  sluice farm create dns --profile l4xnat vip=192.0.2.10 vport=53 protocol=udp\n  sluice farm create mail --profile l4xnat vip=192.0.2.10 vport=25,465,587",
		Args: atLeast(1),
	}
	all := farmSections("newfarmname", "vip", "vport", "protocol")
	all[0].params = without(profile.All()[0].Farm().Create.Params(), "farmname")
	s := addSections(cmd, all)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.read(cmd, args[1:])
		if err != nil {
			return err
		}
		if _, given := fields["profile"]; !given {
			if fields["profile"], err = c.profileFor(cmd.Context(), fields["copy_from"]); err != nil {
				return err
			}
		}
		fields["farmname"] = args[0]
		a, err := c.send(cmd.Context(), http.MethodPost, "/farms", fields)
		return c.orSay(cmd, a, err)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.complete(toComplete)
	}
	return cmd
}

func (c *client) farmCopy() *cobra.Command {
	cmd := &cobra.Command{
		Use: "copy FARM NAME [NAME=VALUE…]", Short: "Copy a farm with its settings, services and backends", Args: atLeast(2),
		Long: `Copy a farm with its settings, services and backends. NAME=VALUE changes
settings of the copy, which needs at least a port or address of its own.`,
		Example: "  sluice farm copy shop twin vport=81\n  sluice farm copy shop twin vip=192.0.2.11",
	}
	s := addSettings(cmd, without(profile.All()[0].Farm().Create.Params(), "farmname", "profile", "copy_from"))
	cmd.ValidArgsFunction = c.completer([]argument{aFarm, aWord}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.read(cmd, args[2:])
		if err != nil {
			return err
		}
		if fields["profile"], err = c.profileFor(cmd.Context(), args[0]); err != nil {
			return err
		}
		fields["farmname"], fields["copy_from"] = args[1], args[0]
		for _, name := range []string{"vip", "vport"} {
			if _, given := fields[name]; !given {
				if fields[name], err = c.settingOf(cmd.Context(), args[0], name); err != nil {
					return err
				}
			}
		}
		a, err := c.send(cmd.Context(), http.MethodPost, "/farms", fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

// settingOf returns a setting of a farm.
func (c *client) settingOf(ctx context.Context, farm, name string) (any, error) {
	path, err := pathOf("farms", farm)
	if err != nil {
		return nil, err
	}
	a, err := c.brief(ctx, path)
	if err != nil {
		return nil, err
	}
	var body farmDetails
	return body.Params[name], a.into(&body)
}

// profileFor returns the profile of a new farm without one: that of the farm it is copied
// from.
func (c *client) profileFor(ctx context.Context, source any) (string, error) {
	name, _ := source.(string)
	if name == "" {
		return "http", nil
	}
	s, err := c.summary(ctx, name)
	return string(profileCalled(s.Params.Profile)), err // https is http with TLS
}

func (c *client) farmSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM NAME=VALUE…", Short: "Change settings of a farm", Args: atLeast(1),
		Example: "  sluice farm set shop contimeout=5 reqtimeout=10\n  sluice farm set shop --error503 'Back in a minute'\n  sluice farm set dns algorithm=leastconn datapath=kernel",
	}
	s := addSections(cmd, farmSections())
	cmd.ValidArgsFunction = c.completer(oneFarm, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.set(cmd, s, args[1:], "farms", args[0]) }
	return cmd
}

func (c *client) farmRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename FARM NAME", Short: "Rename a farm, also while it runs",
		Long: `Rename a farm, also while it runs: connections, sessions and counters stay, and
its access log continues under the new name.`,
		Example: "  sluice farm rename shop store",
		Args:    exactly(2), ValidArgsFunction: c.completer(oneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0])
			if err != nil {
				return err
			}
			a, err := c.send(cmd.Context(), http.MethodPut, path, map[string]any{"newfarmname": args[1]})
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The farm %s has been renamed to %s.\n", args[0], args[1])
			return err
		},
	}
}

func (c *client) farmDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM", Short: "Stop and delete a farm", Example: "  sluice farm delete shop",
		Args: exactly(1), ValidArgsFunction: c.completer(oneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.remove(cmd, "farms", args[0]) },
	}
}

func (c *client) farmAction(action, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: action + " FARM…", Short: short, Example: example, Args: atLeast(1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return c.completer(oneFarm, nil)(cmd, nil, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) (shown error) {
			for _, name := range args {
				path, err := pathOf("farms", name, "actions")
				if err != nil {
					return err
				}
				a, err := c.send(cmd.Context(), http.MethodPut, path, map[string]any{"action": action})
				if err := c.orSay(cmd, a, err); errors.Is(err, errShown) || errors.Is(err, errTried) {
					shown = err // including those of the others
				} else if err != nil {
					return err
				}
			}
			return shown
		},
	}
}
