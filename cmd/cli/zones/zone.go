package zones

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

func zoneCommand(c *command.Line) *cobra.Command {
	return command.Parent("zone", "Manage the zones of a gslb farm", `  sluice zone create names example.com
  sluice zone list names
  sluice zone set names example.com defnamesv=ns1 ttl=600
  sluice zone import names example.com db.example.com
  sluice zone export names example.com
  sluice zone set names example.com dnssec=ecdsap256sha256
  sluice zone key list names example.com
  sluice zone delete names example.com`,
		zoneList(c), zoneCreate(c), zoneSet(c), zoneDelete(c), zoneImport(c), zoneExport(c), zoneCheck(c), zoneKeyCommand(c))
}

func zoneList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list FARM", Short: "List the zones of a gslb farm", Example: "  sluice zone list names\n  sluice zone list names --json",
		Args: command.Exactly(1), ValidArgsFunction: c.Completer(command.OneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("farms", args[0], "zones")
			if err != nil {
				return err
			}
			a, err := c.GetBrief(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					ID, DefNameSV string
					Serial, TTL   uint32
					Records       int `json:"record_count"`
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("ZONE", "NAME SERVER", "SERIAL", "TTL", "RECORDS")
			for _, z := range body.Params {
				s.Add(z.ID, z.DefNameSV, z.Serial, z.TTL, z.Records)
			}
			return c.Print(cmd, s)
		},
	}
}

func zoneCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM ZONE [NAME=VALUE…]", Short: "Create a zone with a name server ns1, which has no address yet", Args: command.AtLeast(2),
		Example: "  sluice zone create names example.com\n  sluice zone create names 2.0.192.in-addr.arpa ttl=86400",
	}
	s := command.AddSettings(cmd, gslbfarm.ZoneUpdate.Params())
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.FarmName, command.FreeText}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[2:])
		if err != nil {
			return err
		}
		path, err := client.Path("farms", args[0], "zones")
		if err != nil {
			return err
		}
		fields["id"] = args[1]
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func zoneSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM ZONE NAME=VALUE…", Short: "Change settings of a zone", Args: command.AtLeast(2),
		Example: "  sluice zone set names example.com defnamesv=ns2",
	}
	s := command.AddSettings(cmd, gslbfarm.ZoneUpdate.Params())
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.FarmName, command.FreeText}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Set(cmd, s, args[2:], "farms", args[0], "zones", args[1])
	}
	return cmd
}

func zoneDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM ZONE", Short: "Delete a zone and its records", Example: "  sluice zone delete names example.com",
		Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.FarmName, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Delete(cmd, "farms", args[0], "zones", args[1])
		},
	}
}
