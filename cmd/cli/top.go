package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// machineLoad is the machine's load as reported by /stats.
type machineLoad struct {
	Params struct {
		CPU struct {
			Usage float64
			Cores int
		}
		Load struct {
			Last1  float64 `json:"Last_1"`
			Last5  float64 `json:"Last_5"`
			Last15 float64 `json:"Last_15"`
		}
		Memory struct {
			Total float64 `json:"MemTotal"`
			Used  float64 `json:"MemUsed"`
		}
	}
}

func topCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "top", Short: "Watch the machine and the traffic of all farms",
		Example: "  sluice top\n  sluice top --watch=1s",
		Args:    command.AtMost(0), ValidArgsFunction: c.Completer(nil, nil),
	}
	intervalFlag(cmd)
	var last *sample // of the previous refresh
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := lookAtMachine(c, cmd); err != nil {
			return err
		}
		last, err = takeSample(c, cmd, "/stats/farms", last)
		return err
	}
	return cmd
}

// lookAtMachine prints the machine's load in one line.
func lookAtMachine(c *command.Line, cmd *cobra.Command) error {
	a, err := c.Get(cmd.Context(), "/stats")
	if err != nil || c.JSON {
		return c.FinishJSON(cmd, a, err)
	}
	var m machineLoad
	if err := a.Decode(&m); err != nil {
		return err
	}
	p := m.Params
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "CPU %.0f %% of %d, load %.2f %.2f %.2f, memory %s of %s\n\n",
		p.CPU.Usage, p.CPU.Cores, p.Load.Last1, p.Load.Last5, p.Load.Last15, show.Size(uint64(p.Memory.Used*(1<<20))), show.Size(uint64(p.Memory.Total*(1<<20))))
	return err
}
