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

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func farmCommand(c *command.Line) *cobra.Command {
	return command.Parent("farm", "Manage farms", `  sluice farm list
  sluice farm create shop vip=192.0.2.10 vport=80
  sluice farm create dns --profile l4xnat vip=192.0.2.10 vport=53 protocol=udp
  sluice farm set shop contimeout=5
  sluice farm stop shop
  sluice farm explain dns`,
		farmList(c), farmShow(c), farmCreate(c), farmCopy(c), farmSet(c), farmRename(c), farmDelete(c),
		farmAction(c, "start", "Start farms", "  sluice farm start shop"),
		farmAction(c, "stop", "Stop farms and keep their configuration", "  sluice farm stop shop"),
		farmAction(c, "restart", "Restart farms; connections end, but requests to http farms finish", "  sluice farm restart shop"),
		farmExplain(c))
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

func farmList(c *command.Line) *cobra.Command {
	var tag string
	cmd := &cobra.Command{
		Use: "list", Short: "List the farms", Example: "  sluice farm list\n  sluice farm list --tag production\n  sluice farm list --json",
		Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/farms"
			if tag != "" {
				path += "?" + url.Values{"tag": {tag}}.Encode()
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params []farmLine }
			if err := a.Decode(&body); err != nil {
				return err
			}
			return c.Print(cmd, farmsSheet(body.Params))
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

func farmShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show FARM", Short: "Show a farm with its services and backends", Example: "  sluice farm show shop",
		Args: command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
		RunE: aboutFarm(c, func(cmd *cobra.Command, body farmDetails) error {
			if len(body.Backends) > 0 {
				body.Services = []service{{Backends: body.Backends}}
			}
			if err := c.Print(cmd, farmSheet(body)); err != nil || len(body.Services) == 0 {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return c.Print(cmd, backendSheet(body.Services))
		}),
	}
}

// aboutFarm runs show with the details of the farm in the first argument; --json prints the
// response.
func aboutFarm(c *command.Line, show func(cmd *cobra.Command, f farmDetails) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		path, err := client.Path("farms", args[0])
		if err != nil {
			return err
		}
		a, err := c.GetBrief(cmd.Context(), path)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body farmDetails
		if err := a.Decode(&body); err != nil {
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
func farmSections(except ...string) []command.Section {
	return sections(func(p profile.Profile) []field.Param { return without(p.Farm().Update.Params(), except...) })
}

// sections returns settings by profile, http farms first.
func sections(of func(profile.Profile) []field.Param) (out []command.Section) {
	for i, p := range profile.All() {
		title := ""
		if i > 0 {
			title = "in " + string(p.Name()) + " farms"
		}
		out = append(out, command.Section{Of: title, Params: of(p)})
	}
	return out
}

func without(params []field.Param, names ...string) []field.Param {
	return slices.DeleteFunc(params, func(p field.Param) bool { return slices.Contains(names, p.Name) })
}

func farmCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM vip=ADDRESS vport=PORT [NAME=VALUE…]", Short: "Create a farm",
		Example: "  sluice farm create shop vip=192.0.2.10 vport=80\n  sluice farm create twin --vip 192.0.2.10 --vport 81 --copy-from shop\n" +
			"  sluice farm create dns --profile l4xnat vip=192.0.2.10 vport=53 protocol=udp\n  sluice farm create mail --profile l4xnat vip=192.0.2.10 vport=25,465,587",
		Args: command.AtLeast(1),
	}
	all := farmSections("newfarmname", "vip", "vport", "protocol")
	all[0].Params = without(profile.All()[0].Farm().Create.Params(), "farmname")
	s := command.AddSections(cmd, all)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[1:])
		if err != nil {
			return err
		}
		if _, given := fields["profile"]; !given {
			if fields["profile"], err = profileFor(c, cmd.Context(), fields["copy_from"]); err != nil {
				return err
			}
		}
		fields["farmname"] = args[0]
		a, err := c.Send(cmd.Context(), http.MethodPost, "/farms", fields)
		return c.Finish(cmd, a, err)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.Complete(toComplete)
	}
	return cmd
}

func farmCopy(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "copy FARM NAME [NAME=VALUE…]", Short: "Copy a farm with its settings, services and backends", Args: command.AtLeast(2),
		Long: `Copy a farm with its settings, services and backends. NAME=VALUE changes
settings of the copy, which needs at least a port or address of its own.`,
		Example: "  sluice farm copy shop twin vport=81\n  sluice farm copy shop twin vip=192.0.2.11",
	}
	s := command.AddSettings(cmd, without(profile.All()[0].Farm().Create.Params(), "farmname", "profile", "copy_from"))
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.FarmName, command.FreeText}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[2:])
		if err != nil {
			return err
		}
		if fields["profile"], err = profileFor(c, cmd.Context(), args[0]); err != nil {
			return err
		}
		fields["farmname"], fields["copy_from"] = args[1], args[0]
		for _, name := range []string{"vip", "vport"} {
			if _, given := fields[name]; !given {
				if fields[name], err = settingOf(c, cmd.Context(), args[0], name); err != nil {
					return err
				}
			}
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, "/farms", fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

// settingOf returns a setting of a farm.
func settingOf(c *command.Line, ctx context.Context, farm, name string) (any, error) {
	path, err := client.Path("farms", farm)
	if err != nil {
		return nil, err
	}
	a, err := c.GetBrief(ctx, path)
	if err != nil {
		return nil, err
	}
	var body farmDetails
	return body.Params[name], a.Decode(&body)
}

// profileFor returns the profile of a new farm without one: that of the farm it is copied
// from.
func profileFor(c *command.Line, ctx context.Context, source any) (string, error) {
	name, _ := source.(string)
	if name == "" {
		return "http", nil
	}
	s, err := summaryOf(c, ctx, name)
	return string(profileCalled(s.Params.Profile)), err // https is http with TLS
}

func farmSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM NAME=VALUE…", Short: "Change settings of a farm", Args: command.AtLeast(1),
		Example: "  sluice farm set shop contimeout=5 reqtimeout=10\n  sluice farm set shop --error503 'Back in a minute'\n  sluice farm set dns algorithm=leastconn datapath=kernel",
	}
	s := command.AddSections(cmd, farmSections())
	cmd.ValidArgsFunction = c.Completer(command.OneFarm, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.Set(cmd, s, args[1:], "farms", args[0]) }
	return cmd
}

func farmRename(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "rename FARM NAME", Short: "Rename a farm, also while it runs",
		Long: `Rename a farm, also while it runs: connections, sessions and counters stay, and
its access log continues under the new name.`,
		Example: "  sluice farm rename shop store",
		Args:    command.Exactly(2), ValidArgsFunction: c.Completer(command.OneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0])
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPut, path, map[string]any{"newfarmname": args[1]})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The farm %s has been renamed to %s.\n", args[0], args[1])
			return err
		},
	}
}

func farmDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM", Short: "Stop and delete a farm", Example: "  sluice farm delete shop",
		Args: command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error { return c.Delete(cmd, "farms", args[0]) },
	}
}

func farmAction(c *command.Line, action, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: action + " FARM…", Short: short, Example: example, Args: command.AtLeast(1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return c.Completer(command.OneFarm, nil)(cmd, nil, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) (shown error) {
			for _, name := range args {
				path, err := client.Path("farms", name, "actions")
				if err != nil {
					return err
				}
				a, err := c.Send(cmd.Context(), http.MethodPut, path, map[string]any{"action": action})
				if err := c.Finish(cmd, a, err); errors.Is(err, command.ErrShown) || errors.Is(err, command.ErrTried) {
					shown = err // including those of the others
				} else if err != nil {
					return err
				}
			}
			return shown
		},
	}
}
