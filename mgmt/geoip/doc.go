// Package geoip stores the GeoIP database that an operator uploads in the MaxMind DB
// format (GeoLite2, DB-IP, IPinfo and others). An upload is converted to a table of
// core/geoip, which is stored in the data directory and passed to the engine.
package geoip
