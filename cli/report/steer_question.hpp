// Words the question that comes before an operator's request loses work.
#pragma once

#include "messages/job.pb.h"
#include "messages/operator.pb.h"

#include <string>
#include <string_view>

namespace actorrun::cli {

/// Whether such a request ends workers or does other harm, so that it depends on the
/// job's status what is lost.
bool may_lose_work(const v1::OperatorRequest& x);

/// What is about to be done, and what that costs: `Restart all 64 workers of big? Work
/// since the last checkpoint is lost.` Empty: no harm is done, or the job refuses.
std::string question_before(const v1::OperatorRequest& x,
                            const v1::JobStatus& job);

/// Whether an answer is yes: `y` or `yes`, in any case.
bool agrees(std::string_view answer);

} // namespace actorrun::cli
