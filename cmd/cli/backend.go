package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// ownedBackend are the arguments after the owner in commands about one backend.
var ownedBackend = []command.Argument{command.BackendID}

func backendCommand(c *command.Line) *cobra.Command {
	cmd := command.Parent("backend", "Manage the backends of a service or of an l4xnat farm", `  sluice backend list shop web
  sluice backend create shop web 10.0.0.1:8080 weight=3
  sluice backend create dns 10.0.0.1 max_conns=500
  sluice backend set shop web 10.0.0.1:8080 weight=null
  sluice backend maintenance dns 0 --mode drain`,
		backendList(c), backendShow(c), backendCreate(c), backendSet(c), backendDelete(c), backendMaintenance(c))
	cmd.Long = `Manage the backends of a service or of an l4xnat farm. BACKEND is the number of
a backend, its ADDRESS or ADDRESS:PORT, its host name or its alias. A number
belongs to its backend for good and is never reused.`
	return cmd
}

func backendsOf(c *command.Line, ctx context.Context, o owner) ([]backend, client.Response, error) {
	path, err := o.path("backends")
	if err != nil {
		return nil, client.Response{}, err
	}
	a, err := c.Get(ctx, path)
	if err != nil {
		return nil, client.Response{}, err
	}
	var body struct{ Params []backend }
	err = a.Decode(&body)
	return body.Params, a, err
}

func backendList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list FARM [SERVICE]", Short: "List the backends of a service or of an l4xnat farm", Example: "  sluice backend list shop web\n  sluice backend list dns",
		Args: command.Between(1, 2), ValidArgsFunction: completeOwner(c, nil, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := parseOwner(c, cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			list, a, err := backendsOf(c, cmd.Context(), o)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			return c.Print(cmd, backendSheet([]service{{ID: o.service, Backends: list}}))
		},
	}
}

func backendShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show FARM [SERVICE] BACKEND", Short: "Show one backend", Example: "  sluice backend show shop web 0\n  sluice backend show dns 0",
		Args: command.Between(2, 3), ValidArgsFunction: completeOwner(c, ownedBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, rest, err := parseOwner(c, cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			list, a, err := backendsOf(c, cmd.Context(), o)
			if err != nil {
				return err
			}
			at, err := find(list, o, rest[0])
			if err != nil {
				return err
			}
			return showBackend(c, cmd, list[at], at, a)
		},
	}
}

func backendCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM [SERVICE] [ADDRESS[:PORT]] [NAME=VALUE…]", Aliases: []string{"add"}, Short: "Add a backend to a service or to an l4xnat farm", Args: command.AtLeast(1),
		Long: `Add a backend to a service or to an l4xnat farm. Without a port, a backend of
an l4xnat farm receives connections on the port the client used. Backends of
gslb farms have no port.`,
		Example: "  sluice backend create shop web 10.0.0.1:8080\n  sluice backend create shop web ip=10.0.0.2 port=8080 weight=3\n  sluice backend create shop web [2001:db8::1]:8080\n" +
			"  sluice backend create dns 10.0.0.1\n  sluice backend create mail 10.0.0.1:25 max_conns=500\n  sluice backend create names web 192.0.2.10",
	}
	s := command.AddSections(cmd, sections(func(p profile.Profile) []field.Param { return p.Backend().Create.Params() }))
	cmd.ValidArgsFunction = completeOwner(c, nil, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, rest, err := newOwner(c, cmd.Context(), args)
		if err != nil {
			return err
		}
		if before(rest) == 1 {
			fields, err := addressFields(c, cmd.Context(), rest[0], o)
			if err != nil {
				return err
			}
			rest = append(fields, rest[1:]...)
		}
		fields, err := s.ReadSome(cmd, rest)
		if err != nil {
			return err
		}
		path, err := o.path("backends")
		if err != nil {
			return err
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

// newOwner parses FARM [SERVICE] [ADDRESS] and returns the arguments after the owner. A
// single word after the farm is the service if the farm has one with that name.
func newOwner(c *command.Line, ctx context.Context, args []string) (owner, []string, error) {
	switch words := before(args); {
	case words == 0:
		return owner{}, nil, command.Usagef("missing farm before %q", args[0])
	case words > 3:
		return owner{}, nil, command.Usagef("%q is not a setting: write NAME=VALUE", args[3])
	case words == 3:
		if farm, err := summaryOf(c, ctx, args[0]); err == nil && !farm.hasServices() {
			return owner{}, nil, fmt.Errorf("farm %s has profile %s and therefore no services: leave %q out", args[0], farm.Params.Profile, args[1])
		}
		return owner{args[0], args[1]}, args[2:], nil
	case words == 1:
		o, err := soleOwner(c, ctx, args[0])
		return o, args[1:], err
	}
	farm, err := summaryOf(c, ctx, args[0])
	if err != nil {
		return owner{}, nil, err
	}
	if farm.hasServices() && (slices.Contains(farm.names(), args[1]) || !strings.ContainsAny(args[1], ".:")) {
		return owner{args[0], args[1]}, args[2:], nil
	}
	o, err := farm.sole(args[0])
	return o, args[1:], err
}

// addressFields parses ADDRESS:PORT. The port is optional if the farm permits backends
// without one.
func addressFields(c *command.Line, ctx context.Context, text string, o owner) ([]string, error) {
	host, port, err := net.SplitHostPort(text)
	switch {
	case err == nil:
		return []string{"ip=" + host, "port=" + port}, nil
	case o.service == "" || !needsPort(c, ctx, o.farm):
		return []string{"ip=" + strings.Trim(text, "[]")}, nil
	}
	return nil, command.Usagef("%q is not ADDRESS:PORT", text)
}

// needsPort reports whether backends of a farm require a port; true if unknown.
func needsPort(c *command.Line, ctx context.Context, name string) bool {
	f, err := summaryOf(c, ctx, name)
	if err != nil {
		return true
	}
	params := profile.Named(farm.Profile(f.Params.Profile)).Backend().Create.Params()
	return slices.ContainsFunc(params, func(p field.Param) bool { return p.Name == "port" && slices.Contains(p.Options, "required") })
}

func backendSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM [SERVICE] BACKEND NAME=VALUE…", Short: "Change settings of a backend", Args: command.AtLeast(2),
		Example: "  sluice backend set shop web 0 weight=3\n  sluice backend set shop web 0 connection_limit=null\n  sluice backend set dns 0 max_conns=500",
	}
	s := command.AddSections(cmd, sections(func(p profile.Profile) []field.Param { return p.Backend().Update.Params() }))
	cmd.ValidArgsFunction = completeOwner(c, ownedBackend, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		words := before(args)
		if words < 2 {
			return command.Usagef("missing argument; usage: %s", command.UsageLine(cmd))
		}
		if words > 3 {
			return command.Usagef("%q is not a setting: write NAME=VALUE", args[3])
		}
		fields, err := s.ReadSome(cmd, args[words:])
		if err != nil {
			return err
		}
		o, rest, err := parseOwner(c, cmd.Context(), args[:words], 1)
		if err != nil {
			return err
		}
		number, err := backendNumber(c, cmd.Context(), o, rest[0])
		if err != nil {
			return err
		}
		path, err := o.path("backends", number)
		if err != nil {
			return err
		}
		a, err := c.Send(cmd.Context(), http.MethodPut, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func backendDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM [SERVICE] BACKEND", Short: "Delete a backend; the others keep their numbers", Example: "  sluice backend delete shop web 1\n  sluice backend delete shop web 10.0.0.2:8080\n  sluice backend delete dns 10.0.0.1",
		Args: command.Between(2, 3), ValidArgsFunction: completeOwner(c, ownedBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, rest, err := parseOwner(c, cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			number, err := backendNumber(c, cmd.Context(), o, rest[0])
			if err != nil {
				return err
			}
			return c.Delete(cmd, o.parts("backends", number)...)
		},
	}
}

func backendMaintenance(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "maintenance FARM [SERVICE] BACKEND", Short: "Put a backend into maintenance, or back in service with --off",
		Long: `Put a backend into maintenance. Mode drain keeps its sessions and connections
and sends new ones to other backends; mode cut also ends them. --off puts the
backend back in service.`,
		Example: "  sluice backend maintenance shop web 0 --mode drain\n  sluice backend maintenance shop web 0 --mode cut\n  sluice backend maintenance dns 0 --off",
		Args:    command.Between(2, 3), ValidArgsFunction: completeOwner(c, ownedBackend, nil),
	}
	mode := cmd.Flags().String("mode", "drain", "drain or cut")
	off := cmd.Flags().Bool("off", false, "put the backend back in service")
	cmd.MarkFlagsMutuallyExclusive("mode", "off")
	cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"drain", "cut"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *mode != "drain" && *mode != "cut" {
			return command.Usagef("--mode: %q is not allowed, allowed are drain and cut", *mode)
		}
		fields := map[string]any{"action": "maintenance", "mode": *mode}
		if *off {
			fields = map[string]any{"action": "up"}
		}
		o, rest, err := parseOwner(c, cmd.Context(), args, 1)
		if err != nil {
			return err
		}
		number, err := backendNumber(c, cmd.Context(), o, rest[0])
		if err != nil {
			return err
		}
		path, err := o.path("backends", number, "maintenance")
		if err != nil {
			return err
		}
		a, err := c.Send(cmd.Context(), http.MethodPut, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}
