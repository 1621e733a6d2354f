package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) zoneKeyCommand() *cobra.Command {
	return parentCommand("key", "Manage the DNSSEC keys of a zone", `  sluice zone set names example.com dnssec=ecdsap256sha256
  sluice zone key list names example.com
  sluice zone key add names example.com
  sluice zone key use names example.com 12345
  sluice zone key delete names example.com 54321`,
		c.zoneKeyList(), c.zoneKeyAdd(), c.zoneKeyUse(), c.zoneKeyDelete())
}

func (c *client) zoneKeyList() *cobra.Command {
	return &cobra.Command{
		Use: "list FARM ZONE", Short: "List the keys of a zone, with the DS records for the registrar", Example: "  sluice zone key list names example.com",
		Long: "List the keys of a zone, with the DS records for the registrar. If keys have a\nlifetime (sluice zone set FARM ZONE key_lifetime=DAYS), it also shows the next\nstep of the automatic rollover of each key.",
		Args: exactly(2), ValidArgsFunction: c.completer([]argument{aFarm, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0], "zones", args[1], "keys")
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					ID                   int
					Algorithm, State, DS string
					Next                 string
					Since                time.Time
				}
			}
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("KEY", "ALGORITHM", "STATE", "SINCE", "DS")
			for _, k := range body.Params {
				s.Add(k.ID, k.Algorithm, k.State, k.Since.Local().Format(time.DateTime), k.DS)
			}
			if err := c.print(cmd, s); err != nil {
				return err
			}
			for _, k := range body.Params {
				if k.Next != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "%d: %s\n", k.ID, show.Clean(k.Next))
				}
			}
			return nil
		},
	}
}

func (c *client) zoneKeyAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add FARM ZONE", Short: "Create the next key of a zone", Example: "  sluice zone key add names example.com",
		Args: exactly(2), ValidArgsFunction: c.completer([]argument{aFarm, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0], "zones", args[1], "keys")
			if err != nil {
				return err
			}
			a, err := c.send(cmd.Context(), http.MethodPost, path, nil)
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) zoneKeyUse() *cobra.Command {
	return &cobra.Command{
		Use: "use FARM ZONE KEY", Short: "Sign a zone with its next key", Example: "  sluice zone key use names example.com 12345",
		Long: "Sign a zone with its next key. The parent zone must have published the DS record\nof the key for at least the TTL of its DS records, else validating resolvers\nreject the zone.",
		Args: exactly(3), ValidArgsFunction: c.completer([]argument{aFarm, aWord, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0], "zones", args[1], "keys", args[2])
			if err != nil {
				return err
			}
			a, err := c.send(cmd.Context(), http.MethodPut, path, map[string]any{"state": "active"})
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) zoneKeyDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM ZONE KEY", Short: "Delete a key of a zone that does not sign", Example: "  sluice zone key delete names example.com 54321",
		Args: exactly(3), ValidArgsFunction: c.completer([]argument{aFarm, aWord, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, "farms", args[0], "zones", args[1], "keys", args[2])
		},
	}
}
