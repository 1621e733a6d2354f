package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate"
)

var oneBackend = []argument{aFarm, aService, aBackend}

func (c *client) backendCommand() *cobra.Command {
	return group("backend", "Manage the backends of a service", `  sluice backend list shop web
  sluice backend create shop web 10.0.0.1:8080 weight=3
  sluice backend set shop web 0 weight=null
  sluice backend maintenance shop web 0 --mode drain`,
		c.backendList(), c.backendShow(), c.backendCreate(), c.backendSet(), c.backendDelete(), c.backendMaintenance())
}

type backend struct {
	ID              int     `json:"id"`
	IP              string  `json:"ip"`
	Port            int     `json:"port"`
	Status          string  `json:"status"`
	MaintenanceMode string  `json:"maintenance_mode,omitempty"`
	Alias           *string `json:"alias"`
	Weight          *int    `json:"weight"`
	Priority        *int    `json:"priority"`
	ConnectionLimit *int    `json:"connection_limit"`
	Timeout         *int    `json:"timeout"`
	Source          *string `json:"source"`
	Mark            *uint32 `json:"mark"`
}

// backendSheet lists the backends of services.
func backendSheet(services []service) *sheet {
	s := newSheet("SERVICE", "ID", "STATUS", "IP", "PORT", "WEIGHT", "PRIORITY", "LIMIT", "ALIAS")
	for _, v := range services {
		for _, b := range v.Backends {
			s.add(v.ID, b.ID, b.Status, b.IP, b.Port, opt(b.Weight), opt(b.Priority), opt(b.ConnectionLimit), opt(b.Alias))
		}
		if len(v.Backends) == 0 {
			s.add(v.ID, "", "", v.Redirect)
		}
	}
	return s
}

func opt[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

func (c *client) backends(cmd *cobra.Command, farm, name string) ([]backend, answer, error) {
	path, err := pathOf("farms", farm, "services", name, "backends")
	if err != nil {
		return nil, answer{}, err
	}
	a, err := c.get(cmd.Context(), path)
	if err != nil {
		return nil, answer{}, err
	}
	var body struct{ Params []backend }
	err = a.into(&body)
	return body.Params, a, err
}

func (c *client) backendList() *cobra.Command {
	return &cobra.Command{
		Use: "list FARM SERVICE", Short: "List the backends of a service", Example: "  sluice backend list shop web",
		Args: exactly(2), ValidArgsFunction: c.completer(oneService, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, a, err := c.backends(cmd, args[0], args[1])
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			return c.print(cmd, backendSheet([]service{{ID: args[1], Backends: list}}))
		},
	}
}

func (c *client) backendShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FARM SERVICE ID", Short: "Show one backend", Example: "  sluice backend show shop web 0",
		Args: exactly(3), ValidArgsFunction: c.completer(oneBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, _, err := c.backends(cmd, args[0], args[1])
			if err != nil {
				return err
			}
			for _, b := range list {
				if strconv.Itoa(b.ID) == args[2] {
					return c.showBackend(cmd, b)
				}
			}
			return fmt.Errorf("the backend %q does not exist in the service %s: `sluice backend list %s %s` lists them", args[2], args[1], args[0], args[1])
		},
	}
}

func (c *client) showBackend(cmd *cobra.Command, b backend) error {
	if c.json {
		raw, err := json.MarshalIndent(b, "", "  ")
		if err != nil {
			return err
		}
		return c.printJSON(cmd, answer{raw: append(raw, '\n')})
	}
	s := newSheet("SETTING", "VALUE")
	for _, line := range []struct {
		name  string
		value any
	}{
		{"id", b.ID}, {"status", b.Status}, {"maintenance", b.MaintenanceMode}, {"ip", b.IP}, {"port", b.Port},
		{"weight", opt(b.Weight)}, {"priority", opt(b.Priority)}, {"connection_limit", opt(b.ConnectionLimit)},
		{"timeout", opt(b.Timeout)}, {"source", opt(b.Source)}, {"mark", opt(b.Mark)}, {"alias", opt(b.Alias)},
	} {
		s.add(line.name, line.value)
	}
	s.right = nil
	return c.print(cmd, s)
}

func (c *client) backendCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM SERVICE [ADDRESS:PORT] [NAME=VALUE…]", Short: "Add a backend to a service", Args: atLeast(2),
		Example: "  sluice backend create shop web 10.0.0.1:8080\n  sluice backend create shop web ip=10.0.0.2 port=8080 weight=3\n  sluice backend create shop web [2001:db8::1]:8080",
	}
	s := addSettings(cmd, validate.BackendCreate.Params())
	cmd.ValidArgsFunction = c.completer(oneService, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rest := args[2:]
		if len(rest) > 0 && !strings.Contains(rest[0], "=") {
			host, port, err := net.SplitHostPort(rest[0])
			if err != nil {
				return usagef("%q is not ADDRESS:PORT", rest[0])
			}
			rest = append([]string{"ip=" + host, "port=" + port}, rest[1:]...)
		}
		fields, err := s.some(cmd, rest)
		if err != nil {
			return err
		}
		path, err := pathOf("farms", args[0], "services", args[1], "backends")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) backendSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM SERVICE ID NAME=VALUE…", Short: "Change settings of a backend", Args: atLeast(3),
		Example: "  sluice backend set shop web 0 weight=3\n  sluice backend set shop web 0 connection_limit=null",
	}
	s := addSettings(cmd, validate.BackendUpdate.Params())
	cmd.ValidArgsFunction = c.completer(oneBackend, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.set(cmd, s, args[3:], "farms", args[0], "services", args[1], "backends", args[2])
	}
	return cmd
}

func (c *client) backendDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM SERVICE ID", Short: "Remove a backend; the ones behind it move up", Example: "  sluice backend delete shop web 1",
		Args: exactly(3), ValidArgsFunction: c.completer(oneBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, "farms", args[0], "services", args[1], "backends", args[2])
		},
	}
}

func (c *client) backendMaintenance() *cobra.Command {
	cmd := &cobra.Command{
		Use: "maintenance FARM SERVICE ID", Short: "Take a backend out, or in again with --off",
		Long: `Take a backend out of service. With mode drain its sessions and connections
are kept and new ones go elsewhere; cut ends them too. --off uses it again.`,
		Example: "  sluice backend maintenance shop web 0 --mode drain\n  sluice backend maintenance shop web 0 --mode cut\n  sluice backend maintenance shop web 0 --off",
		Args:    exactly(3), ValidArgsFunction: c.completer(oneBackend, nil),
	}
	mode := cmd.Flags().String("mode", "drain", "drain or cut")
	off := cmd.Flags().Bool("off", false, "use the backend again")
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
		path, err := pathOf("farms", args[0], "services", args[1], "backends", args[2], "maintenance")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPut, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}
