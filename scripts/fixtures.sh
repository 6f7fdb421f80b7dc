#!/bin/sh
# Fetches what others published and our tests read, into target/fixtures: payloads of webhooks
# (github, gitlab) and the descriptions that GitHub and Gitea give of their APIs (github-openapi,
# gitea-swagger). It is pinned by version and checksum, and fetched once.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
fixtures="$root/target/fixtures"

github_version=7.6.1
github_sha256=89e6cb1c6345d32e3dd775617fa54effbdc26c859e514898d7728e95e9738280
openapi_version=23.0.2
openapi_sha256=71a18407dd5e8464f4e0525daf03deabbe65abd9287d6adc7b5d98f516cd0d0c
gitlab_version=v1.46.0
gitlab_sum='h1:YxBWFZIFYKcGESCb9fpkwzouo+apyB9pr/XTWzNoL24='
gitea_version=v1.26.0
gitea_sum='h1:fJP9dqLbzKrKWUVnCVTfVersZdVDuyJQLEDzCAOmKKA='

stop() {
    echo "fixtures: $1" >&2
    exit 3
}

# Whether folder $1 holds version $2.
holds() {
    [ "$(cat "$fixtures/$1/.version" 2>/dev/null)" = "$2" ] && echo "fixtures: $1 $2 is there"
}

# Puts the folder $1 of version $2 into its place, whole.
settle() {
    chmod -R u+w "$1"
    echo "$2" >"$1/.version"
    rm -rf "${fixtures:?}/$1"
    mv "$1" "$fixtures/$1"
}

mkdir -p "$fixtures"
staging=$(mktemp -d "$fixtures/.staging.XXXXXX")
trap 'rm -rf "$staging"' EXIT
cd "$staging"

if ! holds github "$github_version"; then
    echo "fixtures: fetching @octokit/webhooks-examples $github_version"
    command -v npm >/dev/null || stop "npm is needed for GitHub's example payloads"
    archive=$(npm pack --silent "@octokit/webhooks-examples@$github_version")
    echo "$github_sha256  $archive" | sha256sum --check --quiet || stop "the npm package has another checksum"
    mkdir github
    tar -xzf "$archive" -C github --strip-components 1
    settle github "$github_version"
fi

if ! holds github-openapi "$openapi_version"; then
    echo "fixtures: fetching @octokit/openapi $openapi_version"
    command -v npm >/dev/null || stop "npm is needed for GitHub's description of its API"
    archive=$(npm pack --silent "@octokit/openapi@$openapi_version")
    echo "$openapi_sha256  $archive" | sha256sum --check --quiet || stop "the npm package has another checksum"
    mkdir github-openapi
    # Of a dozen descriptions in it, one is read.
    tar -xzf "$archive" -C github-openapi --strip-components 2 package/generated/api.github.com.json
    settle github-openapi "$openapi_version"
fi

if ! holds gitlab "$gitlab_version"; then
    echo "fixtures: fetching gitlab.com/gitlab-org/api/client-go $gitlab_version"
    command -v go >/dev/null || stop "go is needed for GitLab's example payloads"
    go mod download -json "gitlab.com/gitlab-org/api/client-go@$gitlab_version" >module.json
    grep -qF "\"Sum\": \"$gitlab_sum\"" module.json || stop "the Go module has another checksum"
    module=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",$/\1/p' module.json)
    mkdir gitlab
    cp "$module"/testdata/webhooks/*.json gitlab/
    settle gitlab "$gitlab_version"
fi

if ! holds gitea-swagger "$gitea_version"; then
    echo "fixtures: fetching code.gitea.io/gitea $gitea_version"
    command -v go >/dev/null || stop "go is needed for Gitea's description of its API"
    go mod download -json "code.gitea.io/gitea@$gitea_version" >module.json
    grep -qF "\"Sum\": \"$gitea_sum\"" module.json || stop "the Go module has another checksum"
    module=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",$/\1/p' module.json)
    mkdir gitea-swagger
    cp "$module"/templates/swagger/v1_json.tmpl gitea-swagger/
    settle gitea-swagger "$gitea_version"
fi
