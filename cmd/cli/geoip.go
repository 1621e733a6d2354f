package cli

import (
	"net/http"
	"os"

	"github.com/spf13/cobra"
)

const geoipPath = "/system/geoip"

func (c *client) geoipCommand() *cobra.Command {
	return parentCommand("geoip", "Locate clients, for services with algorithm geo or nearest", `  sluice geoip upload GeoLite2-City.mmdb
  sluice geoip find 198.51.100.7
  sluice backend set names www 1 countries=DE,AT`,
		c.geoipShow(), c.geoipUpload(), c.geoipFind(), c.geoipDelete())
}

func (c *client) geoipShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the state of the GeoIP database", Example: "  sluice geoip show", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), geoipPath)
			return c.orFields(cmd, a, err, "installed", "kind", "built", "uploaded", "by", "countries_known", "nets_ipv4", "nets_ipv6", "has_coordinates")
		},
	}
}

func (c *client) geoipUpload() *cobra.Command {
	return &cobra.Command{
		Use: "upload FILE", Short: "Install a database in the MaxMind DB format",
		Long: `Install a database in the MaxMind DB format (.mmdb), e.g. GeoLite2, GeoIP2,
DB-IP or IPinfo. A country database is enough for algorithm geo; nearest needs
coordinates, which city databases have. The file is read once and used without
interruption. Backups do not contain it.`,
		Example: "  sluice geoip upload GeoLite2-City.mmdb", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodPut, path: geoipPath, body: content, files: args, kind: "application/octet-stream", wait: carryTime})
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) geoipFind() *cobra.Command {
	return &cobra.Command{
		Use: "find ADDRESS", Short: "Show the location of an address", Example: "  sluice geoip find 198.51.100.7", Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("system", "geoip", args[0])
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path)
			return c.orFields(cmd, a, err, "address", "known", "country", "continent", "coordinates", "net")
		},
	}
}

func (c *client) geoipDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete", Short: "Delete the GeoIP database", Example: "  sluice geoip delete", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.send(cmd.Context(), http.MethodDelete, geoipPath, nil)
			return c.orSay(cmd, a, err)
		},
	}
}
