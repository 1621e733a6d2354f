package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// ownedBackend are the arguments after the owner in commands about one backend.
var ownedBackend = []argument{aBackend}

func (c *client) backendCommand() *cobra.Command {
	cmd := parentCommand("backend", "Manage the backends of a service or of an l4xnat farm", `  sluice backend list shop web
  sluice backend create shop web 10.0.0.1:8080 weight=3
  sluice backend create dns 10.0.0.1 max_conns=500
  sluice backend set shop web 10.0.0.1:8080 weight=null
  sluice backend maintenance dns 0 --mode drain`,
		c.backendList(), c.backendShow(), c.backendCreate(), c.backendSet(), c.backendDelete(), c.backendMaintenance())
	cmd.Long = `Manage the backends of a service or of an l4xnat farm. BACKEND is the number of
a backend, its ADDRESS or ADDRESS:PORT, its host name or its alias. A number
belongs to its backend for good and is never reused.`
	return cmd
}

func (c *client) backends(ctx context.Context, o owner) ([]backend, answer, error) {
	path, err := o.path("backends")
	if err != nil {
		return nil, answer{}, err
	}
	a, err := c.get(ctx, path)
	if err != nil {
		return nil, answer{}, err
	}
	var body struct{ Params []backend }
	err = a.into(&body)
	return body.Params, a, err
}

func (c *client) backendList() *cobra.Command {
	return &cobra.Command{
		Use: "list FARM [SERVICE]", Short: "List the backends of a service or of an l4xnat farm", Example: "  sluice backend list shop web\n  sluice backend list dns",
		Args: between(1, 2), ValidArgsFunction: c.completeOwner(nil, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := c.owner(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			list, a, err := c.backends(cmd.Context(), o)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			return c.print(cmd, backendSheet([]service{{ID: o.service, Backends: list}}))
		},
	}
}

func (c *client) backendShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FARM [SERVICE] BACKEND", Short: "Show one backend", Example: "  sluice backend show shop web 0\n  sluice backend show dns 0",
		Args: between(2, 3), ValidArgsFunction: c.completeOwner(ownedBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, rest, err := c.owner(cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			list, a, err := c.backends(cmd.Context(), o)
			if err != nil {
				return err
			}
			at, err := find(list, o, rest[0])
			if err != nil {
				return err
			}
			return c.showBackend(cmd, list[at], at, a)
		},
	}
}

func (c *client) backendCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM [SERVICE] [ADDRESS[:PORT]] [NAME=VALUE…]", Aliases: []string{"add"}, Short: "Add a backend to a service or to an l4xnat farm", Args: atLeast(1),
		Long: `Add a backend to a service or to an l4xnat farm. Without a port, a backend of
an l4xnat farm receives connections on the port the client used. Backends of
gslb farms have no port.`,
		Example: "  sluice backend create shop web 10.0.0.1:8080\n  sluice backend create shop web ip=10.0.0.2 port=8080 weight=3\n  sluice backend create shop web [2001:db8::1]:8080\n" +
			"  sluice backend create dns 10.0.0.1\n  sluice backend create mail 10.0.0.1:25 max_conns=500\n  sluice backend create names web 192.0.2.10",
	}
	s := addSections(cmd, sections(func(p profile.Profile) []field.Param { return p.Backend().Create.Params() }))
	cmd.ValidArgsFunction = c.completeOwner(nil, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, rest, err := c.newOwner(cmd.Context(), args)
		if err != nil {
			return err
		}
		if before(rest) == 1 {
			fields, err := c.addressFields(cmd.Context(), rest[0], o)
			if err != nil {
				return err
			}
			rest = append(fields, rest[1:]...)
		}
		fields, err := s.some(cmd, rest)
		if err != nil {
			return err
		}
		path, err := o.path("backends")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

// newOwner parses FARM [SERVICE] [ADDRESS] and returns the arguments after the owner. A
// single word after the farm is the service if the farm has one with that name.
func (c *client) newOwner(ctx context.Context, args []string) (owner, []string, error) {
	switch words := before(args); {
	case words == 0:
		return owner{}, nil, usagef("missing farm before %q", args[0])
	case words > 3:
		return owner{}, nil, usagef("%q is not a setting: write NAME=VALUE", args[3])
	case words == 3:
		if farm, err := c.summary(ctx, args[0]); err == nil && !farm.hasServices() {
			return owner{}, nil, fmt.Errorf("farm %s has profile %s and therefore no services: leave %q out", args[0], farm.Params.Profile, args[1])
		}
		return owner{args[0], args[1]}, args[2:], nil
	case words == 1:
		o, err := c.soleOwner(ctx, args[0])
		return o, args[1:], err
	}
	farm, err := c.summary(ctx, args[0])
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
func (c *client) addressFields(ctx context.Context, text string, o owner) ([]string, error) {
	host, port, err := net.SplitHostPort(text)
	switch {
	case err == nil:
		return []string{"ip=" + host, "port=" + port}, nil
	case o.service == "" || !c.needsPort(ctx, o.farm):
		return []string{"ip=" + strings.Trim(text, "[]")}, nil
	}
	return nil, usagef("%q is not ADDRESS:PORT", text)
}

// needsPort reports whether backends of a farm require a port; true if unknown.
func (c *client) needsPort(ctx context.Context, name string) bool {
	f, err := c.summary(ctx, name)
	if err != nil {
		return true
	}
	params := profile.Named(farm.Profile(f.Params.Profile)).Backend().Create.Params()
	return slices.ContainsFunc(params, func(p field.Param) bool { return p.Name == "port" && slices.Contains(p.Options, "required") })
}

func (c *client) backendSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM [SERVICE] BACKEND NAME=VALUE…", Short: "Change settings of a backend", Args: atLeast(2),
		Example: "  sluice backend set shop web 0 weight=3\n  sluice backend set shop web 0 connection_limit=null\n  sluice backend set dns 0 max_conns=500",
	}
	s := addSections(cmd, sections(func(p profile.Profile) []field.Param { return p.Backend().Update.Params() }))
	cmd.ValidArgsFunction = c.completeOwner(ownedBackend, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		words := before(args)
		if words < 2 {
			return usagef("missing argument; usage: %s", written(cmd))
		}
		if words > 3 {
			return usagef("%q is not a setting: write NAME=VALUE", args[3])
		}
		fields, err := s.some(cmd, args[words:])
		if err != nil {
			return err
		}
		o, rest, err := c.owner(cmd.Context(), args[:words], 1)
		if err != nil {
			return err
		}
		number, err := c.number(cmd.Context(), o, rest[0])
		if err != nil {
			return err
		}
		path, err := o.path("backends", number)
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPut, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) backendDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM [SERVICE] BACKEND", Short: "Delete a backend; the others keep their numbers", Example: "  sluice backend delete shop web 1\n  sluice backend delete shop web 10.0.0.2:8080\n  sluice backend delete dns 10.0.0.1",
		Args: between(2, 3), ValidArgsFunction: c.completeOwner(ownedBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, rest, err := c.owner(cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			number, err := c.number(cmd.Context(), o, rest[0])
			if err != nil {
				return err
			}
			return c.remove(cmd, o.parts("backends", number)...)
		},
	}
}

func (c *client) backendMaintenance() *cobra.Command {
	cmd := &cobra.Command{
		Use: "maintenance FARM [SERVICE] BACKEND", Short: "Put a backend into maintenance, or back in service with --off",
		Long: `Put a backend into maintenance. Mode drain keeps its sessions and connections
and sends new ones to other backends; mode cut also ends them. --off puts the
backend back in service.`,
		Example: "  sluice backend maintenance shop web 0 --mode drain\n  sluice backend maintenance shop web 0 --mode cut\n  sluice backend maintenance dns 0 --off",
		Args:    between(2, 3), ValidArgsFunction: c.completeOwner(ownedBackend, nil),
	}
	mode := cmd.Flags().String("mode", "drain", "drain or cut")
	off := cmd.Flags().Bool("off", false, "put the backend back in service")
	cmd.MarkFlagsMutuallyExclusive("mode", "off")
	cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"drain", "cut"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *mode != "drain" && *mode != "cut" {
			return usagef("--mode: %q is not allowed, allowed are drain and cut", *mode)
		}
		fields := map[string]any{"action": "maintenance", "mode": *mode}
		if *off {
			fields = map[string]any{"action": "up"}
		}
		o, rest, err := c.owner(cmd.Context(), args, 1)
		if err != nil {
			return err
		}
		number, err := c.number(cmd.Context(), o, rest[0])
		if err != nil {
			return err
		}
		path, err := o.path("backends", number, "maintenance")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPut, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}
