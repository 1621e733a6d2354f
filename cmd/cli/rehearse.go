package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// rehearsed is the rehearsed load of a service.
type rehearsed struct {
	Farm, Service, Algorithm, Verdict, Text string
	Backends                                []struct {
		ID                  int
		IP                  string
		Port                *uint16
		Status              string
		Before, After       float64
		UnderWay            float64 `json:"under_way"`
		Bend, Verdict, Text string
		Limit               *float64
	}
}

func rehearseCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rehearse", Short: "Rehearse the failure of backends: the new load of the others, and whether it fits",
		Long: `Rehearse the failure of backends: how much of their load each other backend
receives, by the algorithm, weights, priorities, limits and health of the farm,
and whether the result is below the limits that 'sluice headroom' shows. Nothing
is changed.

BEFORE and AFTER are requests per second. UNDER-WAY is the number of requests in
flight at the latency of light load. For l4xnat farms these are connections.

Exit status: 0 if the load fits, 3 if it does not or is unknown, 1 if the
rehearsal failed.`,
		Example: "  sluice rehearse --backend shop/web/0\n  sluice rehearse --backend shop/web/10.0.0.1:8080 --backend shop/api/0 --peak\n  sluice rehearse --farm shop --half\n  sluice rehearse --backend dns/0 --json",
		Args:    command.Exactly(0),
	}
	f := cmd.Flags()
	backends := f.StringSlice("backend", nil, "backend that fails: FARM/SERVICE/BACKEND, or FARM/BACKEND of an l4xnat farm (number, address or alias); may be repeated, or a list with commas")
	of := f.String("farm", "", "farm in which the first backends of each service fail")
	half := f.Bool("half", false, "with --farm: half of them (default)")
	share := f.Int("share", 0, "with --farm: this percentage of them, 1 to 100")
	peak := f.Bool("peak", false, "use the peak load of the last day instead of the current load")
	cmd.MarkFlagsMutuallyExclusive("half", "share")
	cmd.RegisterFlagCompletionFunc("farm", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return c.Completer(command.OneFarm, nil)(cmd, nil, toComplete)
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body := map[string]any{}
		if len(*backends) > 0 {
			numbers, err := backendNumbers(c, cmd.Context(), *backends)
			if err != nil {
				return err
			}
			body["backends"] = numbers
		}
		switch {
		case *of != "":
			body["farm"] = *of
		case *half || f.Changed("share"):
			return command.Usagef("--half and --share need --farm")
		case len(*backends) == 0:
			return command.Usagef("no backend given: use --backend or --farm")
		}
		if f.Changed("share") {
			body["share"] = *share
		}
		if *peak {
			body["peak"] = true
		}
		return rehearse(c, cmd, body)
	}
	return cmd
}

// backendNumbers replaces addresses and aliases by backend numbers. Other words stay
// unchanged, and the appliance reports their errors.
func backendNumbers(c *command.Line, ctx context.Context, words []string) ([]string, error) {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word
		parts := strings.SplitN(word, "/", 3)
		last := len(parts) - 1
		if last < 1 || isNumber(parts[last]) {
			continue
		}
		o := owner{farm: parts[0]}
		if last == 2 {
			o.service = parts[1]
		}
		number, err := backendNumber(c, ctx, o, parts[last])
		if err != nil {
			return nil, err
		}
		out[i] = strings.Join(append(parts[:last:last], number), "/")
	}
	return out, nil
}

func rehearse(c *command.Line, cmd *cobra.Command, question map[string]any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: "/rehearsals", Body: text})
	if err != nil {
		return err
	}
	var body struct {
		Params struct {
			Verdict string
			Groups  []rehearsed
		}
	}
	if err := a.Decode(&body); err != nil {
		return err
	}
	if c.JSON {
		err = c.PrintJSON(cmd, a)
	} else {
		err = printRehearsal(c, cmd, body.Params.Groups)
	}
	if err == nil && body.Params.Verdict != "fits" {
		return command.ErrFound
	}
	return err
}

func printRehearsal(c *command.Line, cmd *cobra.Command, groups []rehearsed) error {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		name := "Farm " + g.Farm
		if g.Service != "" {
			name += ", service " + g.Service
		}
		fmt.Fprintln(cmd.OutOrStdout(), show.Clean(fmt.Sprintf("%s (%s): %s: %s.", name, g.Algorithm, g.Verdict, g.Text)))
		if len(g.Backends) == 0 {
			continue
		}
		s := show.NewSheet("ID", "BACKEND", "STATUS", "BEFORE", "AFTER", "UNDER-WAY", "LIMIT", "VERDICT", "WHY")
		for _, b := range g.Backends {
			s.Add(b.ID, address(b.IP, b.Port), b.Status, requests(b.Before), requests(b.After),
				requests(b.UnderWay), limit(b.Limit, b.Bend), b.Verdict, b.Text)
		}
		if err := c.Print(cmd, s); err != nil {
			return err
		}
	}
	return nil
}
