package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// carried is the response about a farm's data path.
type carried struct {
	FarmName, Profile, DataPath, Carrier, Reason, Rules string
	Warnings                                            []string
	Possible                                            []struct{ DataPath, Possible, Reason string }
}

func farmExplain(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "explain FARM", Short: "Show the data path of a farm, the reason for it, and its packet filter rules",
		Example: "  sluice farm explain dns\n  sluice farm explain dns --json",
		Args:    command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "explain")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params  carried
				Warning string
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			command.Warn(cmd, body.Warning)
			_, err = fmt.Fprint(cmd.OutOrStdout(), show.Clean(body.Params.text()))
			return err
		},
	}
}

func (v carried) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "farm %s (%s) runs in %s: %s\n", v.FarmName, v.Profile, carrierWords[v.Carrier], v.Reason)
	fmt.Fprintf(&out, "configured: %s\n", v.DataPath)
	for _, p := range v.Possible {
		if p.Possible == "true" {
			fmt.Fprintf(&out, "%s: possible\n", p.DataPath)
		} else {
			fmt.Fprintf(&out, "%s: not possible: %s\n", p.DataPath, p.Reason)
		}
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", w)
	}
	if v.Rules != "" {
		fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(v.Rules))
	}
	return out.String()
}

var carrierWords = map[string]string{"userspace": "userspace (the engine)", "kernel": "the kernel"}
