package cli

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

var oneService = []command.Argument{command.FarmName, command.ServiceName}

func serviceCommand(c *command.Line) *cobra.Command {
	return command.Parent("service", "Manage the services of a farm", `  sluice service list shop
  sluice service create shop web vhost='shop\.example\.com'
  sluice service set shop web routingpolicy=LEAST_CONNECTIONS
  sluice service move shop web 0`,
		serviceList(c), serviceShow(c), serviceCreate(c), serviceSet(c), serviceDelete(c), serviceMove(c))
}

type service struct {
	ID, VHost, URLP, Redirect, Persistence, RoutingPolicy string
	Algorithm, FarmGuardian                               string
	DefTCPPort, TTL                                       any
	Backends                                              []backend
}

func serviceList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list FARM", Short: "List the services of a farm in the order they are tried", Example: "  sluice service list shop",
		Args: command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
		RunE: aboutFarm(c, func(cmd *cobra.Command, body farmDetails) error {
			if !profileCalled(body.profile()).HasServices() {
				name := body.Params["farmname"]
				return fmt.Errorf("farm %s has profile %s and therefore no services: `sluice backend list %s` lists its backends", name, body.profile(), name)
			}
			if profileCalled(body.profile()).Carries() == farm.TrafficQueries {
				s := show.NewSheet("SERVICE", "ALGORITHM", "CHECK", "TTL", "BACKENDS")
				for _, v := range body.Services {
					s.Add(v.ID, v.Algorithm, cmp.Or(v.FarmGuardian, fmt.Sprintf("tcp %v", v.DefTCPPort)), v.TTL, len(v.Backends))
				}
				return c.Print(cmd, s)
			}
			s := show.NewSheet("SERVICE", "VHOST", "URLP", "REDIRECT", "PERSISTENCE", "ROUTINGPOLICY", "BACKENDS")
			for _, v := range body.Services {
				s.Add(v.ID, v.VHost, v.URLP, v.Redirect, v.Persistence, v.RoutingPolicy, len(v.Backends))
			}
			return c.Print(cmd, s)
		}),
	}
}

func serviceShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show FARM SERVICE", Short: "Show a service and its backends", Example: "  sluice service show shop web",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "services", args[1])
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Services map[string]any }
			var typed struct{ Services service }
			if err := a.Decode(&body); err != nil {
				return err
			}
			if err := a.Decode(&typed); err != nil {
				return err
			}
			s := show.NewSheet("SETTING", "VALUE")
			s.Add("service", args[1])
			for _, name := range []string{"configured", "maintenance", "actual"} {
				s.Add(name, body.Services[name])
			}
			for _, part := range serviceSections() {
				for _, p := range part.Params {
					if v, ok := body.Services[p.Name]; ok {
						s.Add(p.Name, v)
						delete(body.Services, p.Name) // fields of both profiles are listed once
					}
				}
			}
			s.AlignLeft()
			if err := c.Print(cmd, s); err != nil || len(typed.Services.Backends) == 0 {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return c.Print(cmd, backendSheet([]service{typed.Services}))
		},
	}
}

func serviceCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM SERVICE [NAME=VALUE…]", Short: "Create a service at the end of a farm's list", Args: command.AtLeast(2),
		Example: "  sluice service create shop web\n  sluice service create shop api urlp=^/api/ routingpolicy=LEAST_CONNECTIONS\n  sluice service create names shop algorithm=prio deftcpport=443",
	}
	s := command.AddSections(cmd, serviceSections())
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp // a new name
		}
		return c.Completer(command.OneFarm, s)(cmd, args, toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[2:])
		if err != nil {
			return err
		}
		path, err := client.Path("farms", args[0], "services")
		if err != nil {
			return err
		}
		fields["id"] = args[1]
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

// serviceSections returns the settings of services by profile.
func serviceSections() []command.Section {
	return []command.Section{
		{Of: "services of http farms", Params: httpfarm.ServiceUpdate.Params()},
		{Of: "services of gslb farms", Params: gslbfarm.ServiceUpdate.Params()},
	}
}

func serviceSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM SERVICE NAME=VALUE…", Short: "Change settings of a service", Args: command.AtLeast(2),
		Example: "  sluice service set shop web persistence=COOKIE sessionid=SID\n  sluice service set shop old redirect=https://example.com\n  sluice service set secure doh urlp=^/dns-query dns_farm=names",
	}
	s := command.AddSections(cmd, serviceSections())
	cmd.ValidArgsFunction = c.Completer(oneService, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Set(cmd, s, args[2:], "farms", args[0], "services", args[1])
	}
	return cmd
}

func serviceDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM SERVICE", Short: "Delete a service and its backends", Example: "  sluice service delete shop web",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Delete(cmd, "farms", args[0], "services", args[1])
		},
	}
}

func serviceMove(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "move FARM SERVICE POSITION", Short: "Move a service to another position, from 0", Example: "  sluice service move shop web 0",
		Args: command.Exactly(3), ValidArgsFunction: c.Completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "services", args[1], "actions")
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path, map[string]any{"position": args[2]})
			return c.Finish(cmd, a, err)
		},
	}
}
