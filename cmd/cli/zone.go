package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

func (c *client) zoneCommand() *cobra.Command {
	return parentCommand("zone", "Manage the zones of a gslb farm", `  sluice zone create names example.com
  sluice zone list names
  sluice zone set names example.com defnamesv=ns1 ttl=600
  sluice zone import names example.com db.example.com
  sluice zone export names example.com
  sluice zone set names example.com dnssec=ecdsap256sha256
  sluice zone key list names example.com
  sluice zone delete names example.com`,
		c.zoneList(), c.zoneCreate(), c.zoneSet(), c.zoneDelete(), c.zoneImport(), c.zoneExport(), c.zoneCheck(), c.zoneKeyCommand())
}

func (c *client) zoneList() *cobra.Command {
	return &cobra.Command{
		Use: "list FARM", Short: "List the zones of a gslb farm", Example: "  sluice zone list names\n  sluice zone list names --json",
		Args: exactly(1), ValidArgsFunction: c.completer(oneFarm, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0], "zones")
			if err != nil {
				return err
			}
			a, err := c.brief(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					ID, DefNameSV string
					Serial, TTL   uint32
					Records       int `json:"record_count"`
				}
			}
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("ZONE", "NAME SERVER", "SERIAL", "TTL", "RECORDS")
			for _, z := range body.Params {
				s.Add(z.ID, z.DefNameSV, z.Serial, z.TTL, z.Records)
			}
			return c.print(cmd, s)
		},
	}
}

func (c *client) zoneCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM ZONE [NAME=VALUE…]", Short: "Create a zone with a name server ns1, which has no address yet", Args: atLeast(2),
		Example: "  sluice zone create names example.com\n  sluice zone create names 2.0.192.in-addr.arpa ttl=86400",
	}
	s := addSettings(cmd, gslbfarm.ZoneUpdate.Params())
	cmd.ValidArgsFunction = c.completer([]argument{aFarm, aWord}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.read(cmd, args[2:])
		if err != nil {
			return err
		}
		path, err := pathOf("farms", args[0], "zones")
		if err != nil {
			return err
		}
		fields["id"] = args[1]
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) zoneSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM ZONE NAME=VALUE…", Short: "Change settings of a zone", Args: atLeast(2),
		Example: "  sluice zone set names example.com defnamesv=ns2",
	}
	s := addSettings(cmd, gslbfarm.ZoneUpdate.Params())
	cmd.ValidArgsFunction = c.completer([]argument{aFarm, aWord}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.set(cmd, s, args[2:], "farms", args[0], "zones", args[1])
	}
	return cmd
}

func (c *client) zoneDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM ZONE", Short: "Delete a zone and its records", Example: "  sluice zone delete names example.com",
		Args: exactly(2), ValidArgsFunction: c.completer([]argument{aFarm, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, "farms", args[0], "zones", args[1])
		},
	}
}
