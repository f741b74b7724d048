// RFC 7541 Appendix A: the 61 entries, in order, as "name" or "name=value".
const source =
    ":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|" +
    ":status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|" +
    "accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|" +
    "content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type|" +
    "cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|" +
    "if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|" +
    "refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|" +
    "www-authenticate";

/** A header of HTTP/2, its name in lower case; pseudo-headers like `:path` are headers too. One character per octet. */
export type Header = readonly [name: string, value: string];

/** The static table of HPACK (RFC 7541 Appendix A), 61 entries; its index 1 is element 0. An absent value is "". */
export const staticTable: readonly Header[] = source.split("|").map((entry): Header => {
    const [name = "", value = ""] = entry.split("=");
    return [name, value];
});
