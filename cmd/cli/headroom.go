package cli

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// room is the headroom of a backend.
type room struct {
	Farm, Service, IP, Bend, Text, Advice string
	ID                                    int
	Port                                  *uint16
	Limit, Peak, Headroom                 *float64
	BaseLatency                           *float64 `json:"base_latency"`
	HeadroomPeak                          *float64 `json:"headroom_peak"`
	ConnectionLimit                       *int     `json:"connection_limit"`
	Weight                                *int
	UnderWay                              float64 `json:"under_way"`
}

func headroomCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "headroom [FARM]", Short: "Show the spare capacity of backends",
		Long: `Show the spare capacity of the backends of all farms, or of one. Sluice learns
from traffic how many requests in flight saturate each backend (LIMIT) and its
latency under light load (BASE). If saturation was never observed, LIMIT is the
highest load the backend handled well, marked with >: its capacity is at least
that. NOW and PEAK are requests in flight, over the last half minute and the
maximum of the last day; ROOM and AT-PEAK are the rest up to the limit.

CONN-LIMIT and WEIGHT are recommended settings for backends whose limit is
known. --why adds explanations and recommendations. Backends of l4xnat farms
have no LIMIT, because a connection does not show what it waits for.`,
		Example: "  sluice headroom\n  sluice headroom shop --why\n  sluice headroom --json",
		Args:    command.AtMost(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	why := cmd.Flags().Bool("why", false, "explain the figures and recommend changes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := "/headroom"
		if len(args) == 1 {
			var err error
			if path, err = client.Path("farms", args[0], "headroom"); err != nil {
				return err
			}
		}
		a, err := c.Get(cmd.Context(), path)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params []room }
		if err := a.Decode(&body); err != nil {
			return err
		}
		return printRooms(c, cmd, body.Params, *why)
	}
	return cmd
}

func printRooms(c *command.Line, cmd *cobra.Command, list []room, why bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "There are no backends.")
		return err
	}
	if why {
		for _, r := range list {
			text := fmt.Sprintf("%s: %s", place(r.Farm, r.Service, r.ID, r.IP), r.Text)
			if r.Advice != "" {
				text += "\n  do: " + r.Advice
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), show.Clean(text)); err != nil {
				return err
			}
		}
		return nil
	}
	s := show.NewSheet("FARM", "SERVICE", "ID", "BACKEND", "BASE", "LIMIT", "NOW", "PEAK", "ROOM", "AT-PEAK", "CONN-LIMIT", "WEIGHT")
	for _, r := range list {
		s.Add(r.Farm, r.Service, r.ID, address(r.IP, r.Port), latency(r.BaseLatency), limit(r.Limit, r.Bend),
			amount(&r.UnderWay), amount(r.Peak),
			percent(r.Headroom), percent(r.HeadroomPeak), command.Optional(r.ConnectionLimit), command.Optional(r.Weight))
	}
	return c.Print(cmd, s)
}

// place returns a backend's argument for rehearsals, with its address.
func place(farm, service string, id int, ip string) string {
	parts := []string{farm}
	if service != "" {
		parts = append(parts, service)
	}
	return fmt.Sprintf("%s/%d (%s)", strings.Join(parts, "/"), id, ip)
}

func address(ip string, port *uint16) string {
	if port == nil {
		return ip
	}
	return endpoint(ip, int(*port))
}

func latency(seconds *float64) any {
	if seconds == nil {
		return nil
	}
	return time.Duration(*seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
}

// limit formats a limit and marks lower bounds.
func limit(v *float64, bend string) any {
	if v == nil {
		return nil
	}
	if bend == "not seen" {
		return ">" + requests(*v)
	}
	return requests(*v)
}

func amount(v *float64) any {
	if v == nil {
		return nil
	}
	return requests(*v)
}

// requests formats a number of concurrent requests, with one decimal if it is small.
func requests(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", math.Round(v))
}

func percent(v *float64) any {
	if v == nil {
		return nil
	}
	return fmt.Sprintf("%.0f%%", *v)
}
