package cli

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

func (c *client) recordCommand() *cobra.Command {
	return parentCommand("record", "Manage the records of a zone", `  sluice record create names example.com www A 192.0.2.10
  sluice record create names example.com shop DYNA shop
  sluice record list names example.com
  sluice record set names example.com 1 rdata=192.0.2.53
  sluice record delete names example.com 2
  sluice record bulk names example.com records.json`,
		c.recordList(), c.recordCreate(), c.recordSet(), c.recordDelete(), c.recordBulk())
}

func (c *client) recordList() *cobra.Command {
	return &cobra.Command{
		Use: "list FARM ZONE", Short: "List the records of a zone", Example: "  sluice record list names example.com",
		Args: exactly(2), ValidArgsFunction: c.completer([]argument{aFarm, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0], "zones", args[1], "resources")
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path)
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					ID                          int
					RName, Type, RData, Comment string
					TTL                         *int
				}
			}
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("ID", "NAME", "TTL", "TYPE", "VALUE", "COMMENT")
			for _, r := range body.Params {
				s.Add(r.ID, r.RName, opt(r.TTL), r.Type, r.RData, r.Comment)
			}
			return c.print(cmd, s)
		},
	}
}

func (c *client) recordCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create FARM ZONE NAME TYPE VALUE…", Aliases: []string{"add"}, Short: "Add a record to a zone", Args: atLeast(5),
		Long: `Add a record to a zone. NAME is relative to the zone; @ is the zone itself.
VALUE is the data in the format of master files; names in it are relative to the
zone unless they end with a dot. For type DYNA it is the name of the farm's
service that chooses the addresses. ttl=SECONDS and comment=TEXT may follow.`,
		Example:           "  sluice record create names example.com www A 192.0.2.10\n  sluice record create names example.com @ MX 10 mail\n  sluice record create names example.com shop DYNA shop ttl=10",
		ValidArgsFunction: c.completer([]argument{aFarm, aWord, aWord, aWord, aWord}, nil),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"rname": args[2], "type": strings.ToUpper(args[3])}
		var value []string
		for _, word := range args[4:] {
			name, setting, is := strings.Cut(word, "=")
			if is && (name == "ttl" || name == "comment") {
				fields[name] = setting
				continue
			}
			value = append(value, word)
		}
		fields["rdata"] = strings.Join(value, " ")
		path, err := pathOf("farms", args[0], "zones", args[1], "resources")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) recordSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FARM ZONE ID NAME=VALUE…", Short: "Change a record", Args: atLeast(3),
		Example: "  sluice record set names example.com 1 rdata=192.0.2.53 ttl=60",
	}
	s := addSettings(cmd, gslbfarm.RecordUpdate.Params(), "type")
	cmd.ValidArgsFunction = c.completer([]argument{aFarm, aWord, aWord}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.set(cmd, s, args[3:], "farms", args[0], "zones", args[1], "resources", args[2])
	}
	return cmd
}

func (c *client) recordDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FARM ZONE ID", Short: "Delete a record", Example: "  sluice record delete names example.com 2",
		Args: exactly(3), ValidArgsFunction: c.completer([]argument{aFarm, aWord, aWord}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, "farms", args[0], "zones", args[1], "resources", args[2])
		},
	}
}

func (c *client) recordBulk() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bulk FARM ZONE FILE", Short: "Add, change and delete many records in one step", Args: exactly(3),
		Long: `Add, change and delete at most 10,000 records of a zone, all or none, as one
revision. FILE is JSON, with the record fields of the REST API and the ids shown
by sluice record list:

  {"resources": [
     {"rname": "www", "type": "A", "rdata": "192.0.2.10"},
     {"rname": "@", "type": "MX", "rdata": "10 mail", "ttl": 60}],
   "change": [{"id": 1, "rdata": "192.0.2.53"}],
   "delete": [2, 3]}

If one of them is refused, nothing is changed and the error names it.`,
		Example:           "  sluice record bulk names example.com records.json --dry-run\n  make-records | sluice record bulk names example.com -",
		ValidArgsFunction: thenFiles(c.completer([]argument{aFarm, aWord}, nil)),
	}
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := pathOf("farms", args[0], "zones", args[1], "resources", "bulk")
		if err != nil {
			return err
		}
		content, err := readUpTo(cmd, args[2], maxBulk)
		if err != nil {
			return err
		}
		a, err := c.do(cmd.Context(), request{method: http.MethodPost, path: path, query: tried(*dryRun), body: content, files: args[2:]})
		return c.sayOrDiffer(cmd, a, err, *dryRun)
	}
	return cmd
}

// maxBulk bounds the size of a file with records.
const maxBulk = 16 << 20
