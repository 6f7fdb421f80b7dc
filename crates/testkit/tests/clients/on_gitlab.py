"""What a person's script does on GitLab, by python-gitlab: acts on the forge and reads it back.

It takes one JSON object from its standard input and says nothing unless something is wrong.
"""

import json
import sys

import gitlab

story = json.load(sys.stdin)
gl = gitlab.Gitlab(story["url"], private_token=story["token"])
gl.auth()
assert gl.user.username == story["login"], gl.user.username
assert gl.version()[0].startswith("17."), gl.version()

project = gl.projects.get(story["project"])
assert project.path_with_namespace == story["project"]
assert gl.projects.get(project.id).default_branch == "main"
member = project.members_all.get(gl.user.id)
assert member.access_level == gitlab.const.AccessLevel.DEVELOPER, member.access_level
assert [user.id for user in gl.users.list(username=story["login"])] == [gl.user.id]

# The conversation of an issue, over several pages.
issue = project.issues.get(1)
assert issue.state == "opened"
for number in range(45):
    issue.notes.create({"body": f"note {number}"})
notes = issue.notes.list(get_all=True, sort="asc", order_by="created_at")
assert [note.body for note in notes] == [f"note {number}" for number in range(45)]
for note in notes[1:]:
    issue.notes.delete(note.id)
notes[0].body = "the only note"
notes[0].save()
notes[0].awardemojis.create({"name": "eyes"})
try:
    notes[0].awardemojis.create({"name": "eyes"})
    raise AssertionError("a second reaction was taken")
except gitlab.GitlabCreateError as error:
    assert error.response_code == 404, error
assert [award.name for award in notes[0].awardemojis.list(get_all=True)] == ["eyes"]

# Threads on code.
change = project.mergerequests.get(1)
refs = change.diff_refs
assert change.sha == refs["head_sha"]
version = change.diffs.list(get_all=True)[0]
assert version.head_commit_sha == refs["head_sha"]
position = {
    "position_type": "text",
    "old_path": "src/lib.rs",
    "new_path": "src/lib.rs",
    "new_line": 5,
    **refs,
}
thread = change.discussions.create({"body": "why?", "position": position})
thread.notes.create({"body": "because"})
thread.resolved = True
thread.save()
thread = change.discussions.get(thread.id)
notes = thread.attributes["notes"]
assert [note["body"] for note in notes] == ["why?", "because"]
assert notes[0]["resolved"] and notes[0]["resolved_by"]["id"] == gl.user.id
assert notes[0]["position"]["new_line"] == 5
try:
    change.discussions.create({"body": "x", "position": {**position, "new_line": 99}})
    raise AssertionError("a line outside of the difference was taken")
except gitlab.GitlabCreateError as error:
    assert error.response_code == 400 and "line_code" in str(error), error

# Drafts are published at once.
for line in ({"new_line": 5}, {"old_line": 3, "new_line": 3}):
    place = {key: value for key, value in position.items() if key != "new_line"}
    change.draft_notes.create({"note": f"draft {line}", "position": {**place, **line}})
assert len(change.draft_notes.list(get_all=True)) == 2
assert len(change.discussions.list(get_all=True)) == 1
change.draft_notes.bulk_publish()
assert len(change.draft_notes.list(get_all=True)) == 0
assert len(change.discussions.list(get_all=True)) == 3

# Branches, files, changes, statuses, pipelines.
project.branches.create({"branch": "more/work", "ref": change.sha})
branch = project.branches.get("more/work")
assert branch.commit["id"] == change.sha and not branch.protected
file = {"file_path": "docs/a file.md", "branch": "more/work", "content": "one", "commit_message": "one"}
project.files.create(file)
assert project.files.get("docs/a file.md", ref="more/work").decode() == b"one"
opened = project.mergerequests.create(
    {"source_branch": "more/work", "target_branch": "main", "title": "Draft: more work"}
)
assert opened.draft and opened.title == "Draft: more work"
opened.title = "more work"
opened.save()
assert not project.mergerequests.get(opened.iid).draft
listed = project.mergerequests.list(state="opened", source_branch="more/work", get_all=True)
assert [change.iid for change in listed] == [opened.iid]
commit = project.commits.get(change.sha, lazy=True)
commit.statuses.create({"state": "failed", "name": "checks", "description": "no"})
assert [status.status for status in commit.statuses.list(get_all=True)] == ["failed"]
pipeline = project.pipelines.create(
    {"ref": "main", "variables": [{"key": "RUN", "value": "r-1"}]}
)
assert [variable.value for variable in pipeline.variables.list(get_all=True)] == ["r-1"]
