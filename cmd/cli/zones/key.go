package zones

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func zoneKeyCommand(c *command.Line) *cobra.Command {
	return command.Parent("key", "Manage the DNSSEC keys of a zone", `  sluice zone set names example.com dnssec=ecdsap256sha256
  sluice zone key list names example.com
  sluice zone key add names example.com
  sluice zone key use names example.com 12345
  sluice zone key delete names example.com 54321`,
		zoneKeyList(c), zoneKeyAdd(c), zoneKeyUse(c), zoneKeyDelete(c))
}

func zoneKeyList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list FARM ZONE", Short: "List the keys of a zone, with the DS records for the registrar", Example: "  sluice zone key list names example.com",
		Long: "List the keys of a zone, with the DS records for the registrar. If keys have a\nlifetime (sluice zone set FARM ZONE key_lifetime=DAYS), it also shows the next\nstep of the automatic rollover of each key.",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "zones", args[1], "keys")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					ID                   int
					Algorithm, State, DS string
					Next                 string
					Since                time.Time
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("KEY", "ALGORITHM", "STATE", "SINCE", "DS")
			for _, k := range body.Params {
				s.Add(k.ID, k.Algorithm, k.State, k.Since.Local().Format(time.DateTime), k.DS)
			}
			if err := c.Print(cmd, s); err != nil {
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

func zoneKeyAdd(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "add FARM ZONE", Short: "Create the next key of a zone", Example: "  sluice zone key add names example.com",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "zones", args[1], "keys")
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path, nil)
			return c.Finish(cmd, a, err)
		},
	}
}

func zoneKeyUse(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "use FARM ZONE KEY", Short: "Sign a zone with its next key", Example: "  sluice zone key use names example.com 12345",
		Long: "Sign a zone with its next key. The parent zone must have published the DS record\nof the key for at least the TTL of its DS records, else validating resolvers\nreject the zone.",
		Args: command.Exactly(3), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName,
			command.FreeText, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "zones", args[1], "keys", args[2])
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPut, path, map[string]any{"state": "active"})
			return c.Finish(cmd, a, err)
		},
	}
}

func zoneKeyDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM ZONE KEY", Short: "Delete a key of a zone that does not sign", Example: "  sluice zone key delete names example.com 54321",
		Args: command.Exactly(3), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName,
			command.FreeText, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Delete(cmd, "farms", args[0], "zones", args[1], "keys", args[2])
		},
	}
}
