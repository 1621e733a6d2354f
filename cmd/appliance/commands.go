// Package appliance holds the commands that run the appliance, instead of managing
// one that runs.
package appliance

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/demo"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/mgmt/gui"
	"github.com/sluicelb/sluice/mgmt/outbound"
	"github.com/sluicelb/sluice/web"
)

// Commands are run and demo.
func Commands() []*cobra.Command { return []*cobra.Command{runCommand(), demoCommand()} }

func runCommand() *cobra.Command {
	var o supervisor.Options
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the appliance in the foreground until Ctrl-C or SIGTERM",
		Long: `Run the appliance in the foreground until Ctrl-C or SIGTERM.

Four processes are started and kept alive: engine carries the traffic, mgmt
serves the API and keeps the configuration, netd opens the listening sockets,
and progd runs plugins, hooks and scripts in sandboxes.

SIGHUP applies the file of --config again and opens log files anew. When that
file is refused at the start and nothing is stored from before, the program
ends with status 1. SLUICE_LOG=debug, info, warn or error says how much is
written to standard error.`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if _, err := outbound.ParseAllowed(o.OutboundAllow); err != nil {
				return fmt.Errorf("--outbound-allow: %w", err)
			}
			return checkAPI(o.API)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			o.Data = c.Flag("data").Value.String()
			o.Log = supervisor.Logger("supervisor")
			c.Root().ResetCommands() // it runs for months, and needs none of the others
			return supervisor.Run(unsignalled(c), o)
		},
	}
	c.Flags().StringVar(&o.API, "api", "", "where the API listens, ADDR:PORT (default :444, or :4444 without the right to bind it)")
	c.Flags().StringVar(&o.Config, "config", "", "document to apply at start and on reload")
	c.Flags().BoolVar(&o.OpenMetrics, "open-metrics", false, "let programs of this machine read GET /metrics without a key")
	c.Flags().StringVar(&o.OutboundAllow, "outbound-allow", "", "local addresses that webhooks, ACME, OpenID Connect and the cloud may be reached at, e.g. 127.0.0.1 or 127.0.0.0/8,::1 (default none)")
	c.Flags().DurationVar(&o.Grace, "grace", supervisor.DefaultGrace, "how long exchanges under way may take to end when stopping")
	return c
}

// checkAPI refuses what can be no address before anything is started.
func checkAPI(api string) error {
	if api == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(api)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--api %q is no ADDR:PORT, as 127.0.0.1:4444 or :444", api)
	}
	return nil
}

func demoCommand() *cobra.Command {
	var o demo.Options
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Run an instance with a demonstration farm and two small backends",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return checkAPI(o.API) },
		RunE: func(c *cobra.Command, _ []string) error {
			// SLUICE_DATA names a real instance, so only the flag counts here.
			if data := c.Flag("data"); data.Changed {
				o.Data = data.Value.String()
			}
			// The demonstration is for new users: besides its own text, only problems are
			// logged.
			if os.Getenv(supervisor.LogVariable) == "" {
				_ = os.Setenv(supervisor.LogVariable, "warn")
			}
			o.Log, o.GUI = supervisor.Logger("supervisor"), gui.Built(web.Files())
			return demo.Run(unsignalled(c), o)
		},
	}
	c.Flags().StringVar(&o.API, "api", "", "where the API listens, ADDR:PORT (default 127.0.0.1:4444 or the next free port)")
	return c
}

// unsignalled is the command's context without cancellation by signals, because the
// supervisor itself distinguishes a first Ctrl-C from a second one.
func unsignalled(c *cobra.Command) context.Context { return context.WithoutCancel(c.Context()) }
