package cli

import (
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

const geoipPath = "/system/geoip"

func geoipCommand(c *command.Line) *cobra.Command {
	return command.Parent("geoip", "Locate clients, for services with algorithm geo or nearest", `  sluice geoip upload GeoLite2-City.mmdb
  sluice geoip find 198.51.100.7
  sluice backend set names www 1 countries=DE,AT`,
		geoipShow(c), geoipUpload(c), geoipFind(c), geoipDelete(c))
}

func geoipShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the state of the GeoIP database", Example: "  sluice geoip show", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), geoipPath)
			return c.FinishFields(cmd, a, err, "installed", "kind", "built", "uploaded", "by", "countries_known", "nets_ipv4", "nets_ipv6", "has_coordinates")
		},
	}
}

func geoipUpload(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "upload FILE", Short: "Install a database in the MaxMind DB format",
		Long: `Install a database in the MaxMind DB format (.mmdb), e.g. GeoLite2, GeoIP2,
DB-IP or IPinfo. A country database is enough for algorithm geo; nearest needs
coordinates, which city databases have. The file is read once and used without
interruption. Backups do not contain it.`,
		Example: "  sluice geoip upload GeoLite2-City.mmdb", Args: command.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPut, Path: geoipPath, Body: content, Sources: args, ContentType: "application/octet-stream", Timeout: command.TransferTimeout})
			return c.Finish(cmd, a, err)
		},
	}
}

func geoipFind(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "find ADDRESS", Short: "Show the location of an address", Example: "  sluice geoip find 198.51.100.7", Args: command.Exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := client.Path("system", "geoip", args[0])
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			return c.FinishFields(cmd, a, err, "address", "known", "country", "continent", "coordinates", "net")
		},
	}
}

func geoipDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete", Short: "Delete the GeoIP database", Example: "  sluice geoip delete", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Send(cmd.Context(), http.MethodDelete, geoipPath, nil)
			return c.Finish(cmd, a, err)
		},
	}
}
