package cli

import (
	"net/http"

	"github.com/spf13/cobra"
)

func (c *client) systemCommand() *cobra.Command {
	return group("system", "Show and remove what the appliance has set in the kernel", "  sluice system kernel\n  sluice system clean",
		c.systemKernel(), c.systemClean())
}

// kernelObjects is an answer that lists what is set, or was.
type kernelObjects struct {
	Params []struct{ Kind, Name, Detail string }
}

func (v kernelObjects) sheet() *sheet {
	s := newSheet("KIND", "NAME", "DETAIL")
	for _, o := range v.Params {
		s.add(o.Kind, o.Name, o.Detail)
	}
	return s
}

func (c *client) systemKernel() *cobra.Command {
	return &cobra.Command{
		Use: "kernel", Short: "List everything the appliance has set in the kernel: tables, addresses, settings",
		Example: "  sluice system kernel\n  sluice system kernel --json", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), "/system/kernel")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body kernelObjects
			if err := a.into(&body); err != nil {
				return err
			}
			return c.print(cmd, body.sheet())
		},
	}
}

func (c *client) systemClean() *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Remove everything the appliance has set in the kernel",
		Long: `Remove everything the appliance has set in the kernel. Farms the kernel carries
stop until the next change of the configuration, or until it starts again.`,
		Example: "  sluice system clean", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.send(cmd.Context(), http.MethodPost, "/system/kernel/clean", map[string]any{})
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body kernelObjects
			if err := a.into(&body); err != nil {
				return err
			}
			if len(body.Params) > 0 {
				if err := c.print(cmd, body.sheet()); err != nil {
					return err
				}
			}
			return c.say(cmd, a)
		},
	}
}
